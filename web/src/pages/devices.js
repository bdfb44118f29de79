// What other devices would need at least for a profiled model.
import { axis, chart, markLine, tip, tooltip } from '../chart.js';
import { shortened } from '../dom.js';
import { change, digits, isNumber, time } from '../format.js';
import { numberColumn, section, textColumn } from '../parts.js';
import { dataTable } from '../table.js';
import { ink, PALETTE } from '../theme.js';

const atLeast = (device) => device.roofline_latency_ms;
const LIMITS = { 'compute-bound': 'arithmetic', 'memory-bound': 'memory' };
const limitOf = (device) => LIMITS[device.bound_regime] ?? device.bound_regime ?? null;

function devicesTable(devices, here) {
  return dataTable(
    [
      textColumn('device', (device) => device.device, { isName: true }),
      numberColumn('at least', atLeast, time),
      numberColumn('compared with here', (device) => atLeast(device) / here, change),
      textColumn('limited by', limitOf),
      numberColumn('GB/s', (device) => device.configured_memory_bandwidth_gbps, digits),
      numberColumn('GMAC/s', (device) => device.configured_peak_compute_gmacs, digits),
      textColumn('note', (device) => device.note || null, { isName: true }),
    ],
    devices,
    { caption: 'Devices', sort: [1, false], search: (device) => `${device.device} ${device.note ?? ''}` },
  ).element;
}

export function devicesSection(result) {
  const devices = result.hardware?.devices;
  if (!devices || devices.length === 0) return null;
  const here = result.latency_ms;
  const known = devices.filter((device) => atLeast(device) > 0).sort((a, b) => atLeast(a) - atLeast(b));
  const drawn = chart({
    label: 'What devices would need at least',
    height: 90 + 18 * known.length,
    table: () => devicesTable(devices, here),
    option: (width) => ({
      grid: { left: width < 520 ? 112 : 190, right: width < 520 ? 16 : 40, top: 30, bottom: 46 },
      tooltip: tooltip((item) => {
        const device = known[item.value[1]];
        return tip(device.device, [
          ['at least', time(atLeast(device))],
          ['compared with here', change(atLeast(device) / here)],
          ['limited by', limitOf(device) ?? 'memory'],
          ['bandwidth', `${digits(device.configured_memory_bandwidth_gbps)} GB/s`],
        ]);
      }),
      xAxis: axis('at least, ms, logarithmic', {
        type: 'log',
        axisLabel: { color: ink().quiet, formatter: (v) => digits(v, 1), hideOverlap: true },
      }),
      yAxis: axis('', {
        type: 'category',
        inverse: true,
        data: known.map((device) => shortened(device.device, width < 520 ? 16 : 28)),
        splitLine: { show: false },
        axisLabel: { color: ink().text, interval: 0 },
      }),
      series: [
        {
          type: 'scatter',
          symbolSize: 10,
          itemStyle: { color: PALETTE.blue },
          data: known.map((device, i) => [atLeast(device), i]),
          markLine: isNumber(here)
            ? markLine({
                data: [{ xAxis: here }],
                lineStyle: { color: ink().text, type: 'dotted', width: 1.6 },
                label: { formatter: `here ${time(here)}`, color: ink().text, position: 'start' },
              })
            : undefined,
        },
      ],
    }),
  });
  return section(
    'devices',
    'Other devices',
    'What a device would need at least, from its bandwidth and its peak where that is known: a bound, not a prediction. ‘assay fit’ predicts.',
    drawn.element,
  );
}
