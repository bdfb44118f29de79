// Opens pages in headless Chromium: node page_test.mjs ASSAY GOLDEN_FOLDER. Exits with 77, which means skipped, where
// Chromium or puppeteer-core is missing.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import {
  assertNarrowEnough,
  closed,
  finish,
  hovered,
  opened,
  pageOf,
  scrolledThrough,
  scrolledTo,
  textOf,
  textsOf,
  weakTexts,
} from './browser.mjs';
import {
  deepProfile,
  everyResult,
  goldenResult,
  hostile,
  oneOfEachKind,
  quantityOf,
  shows,
  storedResult,
  withHostileNames,
} from './results.mjs';

const at = (result, key) => key.split('.').reduce((value, part) => value?.[part], result);
const column = (page, n) => textsOf(page, `#layers tbody tr > :nth-child(${n})`);
const rising = (list) => [...list].sort((a, b) => a - b);

// Headline figures are those of the result, in every digit that is shown.
async function assertFigures(page, name, result) {
  const figures = await page.$$eval('[data-key]', (list) => {
    const part = document.querySelector('h2.result-title'); // where the results inside this one begin
    const isOwn = (one) => !part || one.compareDocumentPosition(part) & Node.DOCUMENT_POSITION_FOLLOWING;
    return list.filter(isOwn).map((one) => [one.dataset.key, one.dataset.value, one.textContent]);
  });
  for (const [key, value, text] of figures) {
    assert.equal(Number(value), at(result, key), `${name}: ${key}`);
    assert.ok(shows(text, at(result, key)), `${name}: ${key} is ${at(result, key)}, the page says ${text}`);
  }
  return figures.length;
}

const tests = {
  async 'every kind of result opens, shows its figures, has a table behind every chart, and fits a phone'() {
    let checked = 0;
    for (const [name, result] of everyResult()) {
      const page = await opened(pageOf(name, result));
      await scrolledThrough(page);
      assert.equal(await page.$('#incomplete'), null, name);
      checked += await assertFigures(page, name, result);
      const without = await page.$$eval(
        'figure.chart',
        (list) => list.filter((one) => !one.querySelector('details.behind')).length,
      );
      assert.equal(without, 0, name);
      await page.$$eval('details.behind > summary', (list) => list.forEach((one) => one.click()));
      await page.waitForFunction(() =>
        [...document.querySelectorAll('details.behind')].every((one) => one.querySelector('tbody tr')),
      );
      await page.setViewport({ width: 360, height: 780 });
      await assertNarrowEnough(page, 360, name);
      await closed(page);
    }
    assert.ok(checked > 40, `${checked} figures`);
  },
  async 'rows of the table have the figures of their layers'() {
    const result = goldenResult('profile');
    const page = await opened(pageOf('rows', result));
    const titles = await textsOf(page, '#layers thead th');
    const rows = await page.$$eval('#layers tbody tr', (list) =>
      list.map((row) => [...row.children].map((cell) => cell.firstElementChild?.textContent || cell.textContent)),
    );
    const names = new Map(result.layers.map((layer) => [layer.label ?? layer.name, layer]));
    const cell = (row, title) => row[titles.indexOf(title)];
    assert.equal(rows.length, result.layers.length);
    for (const row of rows) {
      const layer = names.get(cell(row, 'layer'));
      assert.ok(layer, cell(row, 'layer'));
      assert.ok(shows(cell(row, 'time'), layer.time_ms), cell(row, 'time'));
      assert.ok(shows(cell(row, 'FLOPs'), layer.flops), cell(row, 'FLOPs'));
      assert.ok(shows(cell(row, 'of ceiling'), layer.percent_of_ceiling), cell(row, 'of ceiling'));
      assert.equal(cell(row, 'op'), layer.op);
    }
    await closed(page);
  },
  async 'the table sorts, filters and searches'() {
    const page = await opened(pageOf('table', deepProfile(60)));
    const times = async () => (await column(page, 3)).map((text) => quantityOf(text).value);
    const first = await times();
    assert.deepEqual(first, rising(first).reverse());
    await page.focus('#layers thead th:nth-child(3) .sort');
    await page.keyboard.press('Enter');
    const second = await times();
    assert.deepEqual(second, rising(second));
    assert.equal(await page.$eval('#layers thead th:nth-child(3)', (head) => head.ariaSort), 'ascending');
    await page.select('#layers select', 'Conv');
    assert.match(await textOf(page, '#layers .table-status'), /20 of 60 rows/);
    await page.type('#layers input[type=search]', 'conv27');
    assert.match(await textOf(page, '#layers .table-status'), /1 of 60 rows/);
    assert.match((await column(page, 2))[0], /conv27/);
    await closed(page);
  },
  async 'Tab reaches everything that acts, and shows where it is'() {
    const page = await opened(pageOf('keyboard', deepProfile(5)));
    const seen = [];
    for (let i = 0; i < 100; ++i) {
      await page.keyboard.press('Tab');
      const [what, outline] = await page.evaluate(() => {
        const one = document.activeElement;
        const style = getComputedStyle(one);
        return [`${one.tagName} ${one.className} ${one.textContent.slice(0, 20)}`.trim(), style.outlineStyle];
      });
      if (what.startsWith('BODY')) break;
      assert.notEqual(outline, 'none', what);
      seen.push(what);
    }
    const order = [
      'A skip',
      'BUTTON theme',
      'A  Summary',
      'BUTTON  what limits',
      'INPUT',
      'SELECT',
      'TR active',
      'CANVAS',
    ];
    const places = order.map((wanted) =>
      seen.findIndex((what) => what.replace(/ +/g, ' ').startsWith(wanted.replace(/ +/g, ' '))),
    );
    assert.ok(!places.includes(-1), JSON.stringify([order, places, seen]));
    assert.deepEqual(places, rising(places));
    await closed(page);
  },
  async 'Enter on a row shows its details, arrows go on'() {
    const page = await opened(pageOf('details', deepProfile(5)));
    await page.focus('#layers tbody tr');
    await page.keyboard.press('Enter');
    assert.match(await textOf(page, '#layers tr.detail'), /algorithm/);
    assert.equal(await page.evaluate(() => document.activeElement.ariaExpanded), 'true');
    await page.keyboard.press('Enter');
    assert.equal(await page.$('#layers tr.detail'), null);
    await page.keyboard.press('ArrowDown');
    const rows = await page.$$('#layers tbody tr');
    assert.ok(await rows[1].evaluate((row) => row === document.activeElement));
    await closed(page);
  },
  async 'a point of the roofline tells its figures and leads to its row'() {
    const page = await opened(pageOf('roofline', goldenResult('profile')));
    await page.$eval('#roofline', (one) => one.scrollIntoView({ behavior: 'instant' }));
    await page.waitForSelector('#roofline .stage svg path[fill="#0072b2"]');
    const points = await page.$$('#roofline .stage svg path[fill="#0072b2"]');
    const frames = await Promise.all(points.map((point) => point.boundingBox()));
    const { x, y, width, height } = frames.sort((a, b) => b.height - a.height)[0];
    await page.mouse.move(x + width / 2, y + height / 2);
    await page.waitForFunction(
      () => /GFLOP\/s/.test(document.querySelector('#roofline .stage .tip')?.textContent ?? ''),
      { timeout: 5000 },
    );
    await page.mouse.click(x + width / 2, y + height / 2);
    await page.waitForSelector('#layers tr.marked', { timeout: 5000 });
    await closed(page);
  },
  async 'the roofline has a roof for each precision'() {
    const result = goldenResult('profile');
    result.machine.peaks_gflops = { fp32: 100, bf16: 200, int8: 400 };
    result.machine.peak_gflops = 100;
    result.machine.precision = 'fp32';
    const page = await opened(pageOf('roofs', result));
    await scrolledTo(page, '#roofline .stage');
    await page.waitForSelector('#roofline .stage svg text');
    const labels = (await textsOf(page, '#roofline .stage svg text')).filter((text) => /GFLOP\/s$/.test(text)).join();
    for (const roof of [/fp32[^,]* 100 /, /bf16[^,]* 200 /, /int8[^,]* 400 /]) assert.match(labels, roof);
    await closed(page);
  },
  async 'charts tell their figures under the pointer'() {
    const page = await opened(pageOf('hover', deepProfile(60)));
    for (const [selector, pattern] of [
      ['#breakdown .stage', /share\d/],
      ['#memory .stage', /step \d+.*alive/],
      ['#latency figure:first-child .stage', /samples\d/],
    ]) {
      await scrolledTo(page, selector);
      await page.waitForSelector(`${selector} canvas`);
      await hovered(page, selector, pattern);
    }
    await scrolledTo(page, '#network .graph');
    await page.waitForFunction(() => /boxes/.test(document.querySelector('#network [role=status]').textContent));
    assert.match(await hovered(page, '#network .graph', /bytes moved/), /FLOPs/);
    await closed(page);
  },
  async 'where it goes follows its switches'() {
    const page = await opened(pageOf('switches', deepProfile(30)));
    await scrolledTo(page, '#breakdown');
    await page.$eval('#breakdown details.behind > summary', (one) => one.click());
    const press = (text) =>
      page.$$eval(
        '#breakdown .choice button',
        (list, wanted) => list.find((one) => one.textContent === wanted).click(),
        text,
      );
    await page.waitForSelector('#breakdown details table');
    await press('kind of op');
    await press('FLOPs');
    assert.deepEqual(await textsOf(page, '#breakdown tbody td:first-child'), ['Relu', 'Conv']);
    const heads = await textsOf(page, '#breakdown thead th');
    assert.deepEqual(heads, ['op', 'FLOPs', 'share']);
    await closed(page);
  },
  async 'the network folds, zooms and moves by keyboard'() {
    const page = await opened(pageOf('network', deepProfile(1000)));
    const status = () => textOf(page, '#network [role=status]');
    await page.$eval('#network', (one) => one.scrollIntoView({ behavior: 'instant' }));
    await page.waitForFunction(() => /boxes/.test(document.querySelector('#network [role=status]').textContent));
    const folded = parseInt(await status(), 10);
    await page.focus('#network canvas');
    for (const key of ['+', '-', 'ArrowRight', '0', '.']) await page.keyboard.press(key);
    assert.match(await status(), /moved/);
    await page.keyboard.press('Enter');
    await page.keyboard.press('Backspace');
    await page.keyboard.press(',');
    const button = (text) =>
      page.$$eval('#network button', (list, wanted) => list.find((one) => one.textContent === wanted).click(), text);
    const start = Date.now();
    await button('open all');
    assert.match(await status(), /1000 boxes/);
    console.log(`    1,000 boxes arranged in ${Date.now() - start} ms`);
    await button('fold all');
    assert.ok(parseInt(await status(), 10) <= folded);
    await closed(page);
  },
  async 'copies of weights are one box of the network until it is opened'() {
    const result = deepProfile(20);
    const idle = { op: 'Identity', time_ms: null, share: null, flops: 0, macs: 0, bytes_read: 0, bytes_written: 0 };
    const copies = Array.from({ length: 30 }, (_, i) => ({ ...result.layers[0], ...idle, name: `Identity_${i}`, node: 20 + i }));
    copies.forEach((copy, i) => {
      delete copy.label;
      result.edges.push([copy.node, i % 20]);
    });
    result.layers.push(...copies);
    const page = await opened(pageOf('constants', result));
    await scrolledTo(page, '#network .graph');
    await page.waitForFunction(() => /boxes/.test(document.querySelector('#network [role=status]').textContent));
    assert.ok(parseInt(await textOf(page, '#network [role=status]'), 10) <= 21);
    await page.$$eval('#network button', (list) => list.find((one) => one.textContent === 'open all').click());
    assert.match(await textOf(page, '#network [role=status]'), /^50 boxes/);
    await closed(page);
  },
  async 'results that were printed together are shown one by one'() {
    const list = [1, 2, 3].map((i) => ({ ...deepProfile(3), model: { name: `model${i}` } }));
    const page = await opened(pageOf('together', { schema: 'assay.profiles/1', results: list }));
    const titles = await textsOf(page, 'h1, h2.result-title');
    assert.deepEqual(titles, ['model1', 'Profile: model2', 'Profile: model3']);
    assert.match(await textOf(page, '#provenance'), /2 of 3/);
    await closed(page);
  },
  async 'a sweep of several seeds shows what they have in common, then each'() {
    const result = storedResult('sweep_seeds');
    const page = await opened(pageOf('seeds', result));
    assert.equal((await page.$$('h2.result-title')).length, result.seeds.length);
    const rows = await textsOf(page, '#versions tbody tr');
    assert.equal(rows.length, result.aggregates.length);
    const [first] = await page.$$eval('#versions tbody tr', (list) =>
      list.map((row) => [...row.children].map((cell) => cell.textContent)),
    );
    assert.ok(shows(first[1], result.aggregates[0].accuracy.mean), first[1]);
    assert.ok(shows(first[4], result.aggregates[0].latency_ms.std), first[4]);
    await scrolledTo(page, '#pareto .stage');
    await page.waitForSelector('#pareto .stage svg');
    await closed(page);
  },
  async 'names that change the writing direction turn no other text around'() {
    const result = deepProfile(3);
    result.layers[0].name = 'right\u202eleft';
    delete result.layers[0].label;
    const page = await opened(pageOf('directions', result));
    assert.match((await column(page, 2)).join(), /right\ufffdleft/);
    await closed(page);
  },
  async 'versions that were too close to the target are not called met'() {
    const result = storedResult('optimize');
    result.goal.target_ms = result.before.latency_ms;
    result.trail.forEach((one) => Object.assign(one, { meets_target: true, outcome: 'too close' }));
    const page = await opened(pageOf('outcome', result));
    assert.ok((await textsOf(page, '#trail tbody td')).includes('too close'));
    await closed(page);
  },
  async 'dark and light have enough contrast'() {
    for (const [name, result] of [
      ['profile', deepProfile(20)],
      ...['sweep', 'sweep_seeds', 'train', 'fit', 'optimize', 'stream', 'study'].map((kind) => [kind, storedResult(kind)]),
    ]) {
      const html = pageOf(`dark-${name}`, result);
      for (const dark of [false, true]) {
        const page = await opened(html, { dark });
        assert.deepEqual(await weakTexts(page), [], name);
        const before = await page.$eval('body', (body) => getComputedStyle(body).backgroundColor);
        await page.click('button.theme');
        assert.notEqual(await page.$eval('body', (body) => getComputedStyle(body).backgroundColor), before);
        await closed(page);
      }
    }
  },
  async 'a phone of 360 pixels shows it without scrolling sideways'() {
    const page = await opened(pageOf('phone', deepProfile(60)), { width: 360 });
    await scrolledThrough(page);
    await assertNarrowEnough(page, 360, 'profile');
    await closed(page);
  },
  async 'hostile names are text'() {
    const result = deepProfile(hostile.length);
    result.model.name = hostile[0];
    hostile.forEach((name, i) => {
      result.layers[i].name = name;
      result.layers[i].op = name;
      result.steps[i].name = name;
      result.memory.buffers[i].name = name;
    });
    result.warnings = hostile;
    result.advice = [{ rule: 'r', layers: hostile, reason: hostile[0], action: hostile[1], gain_ms: 1, once: false }];
    const page = await opened(pageOf('hostile', result), { width: 360 });
    await scrolledThrough(page);
    await page.$eval('#roofline', (one) => one.scrollIntoView({ behavior: 'instant' }));
    assert.equal(await page.evaluate(() => window.hit), undefined);
    assert.equal((await page.$$('main img, main iframe')).length, 0);
    const text = await textOf(page, 'body');
    for (const name of hostile) assert.ok(text.includes(name), name.slice(0, 40));
    await assertNarrowEnough(page, 360, 'hostile names');
    await closed(page);
  },
  async 'hostile names are text in every kind of result'() {
    for (const [name, result] of oneOfEachKind()) {
      const page = await opened(pageOf(`hostile-${name}`, withHostileNames(result)));
      await scrolledThrough(page);
      assert.equal(await page.evaluate(() => window.hit), undefined, name);
      assert.equal((await page.$$('main img, main iframe, main script')).length, 0, name);
      await closed(page);
    }
  },
  async 'a result that lacks something is shown as tables'() {
    const result = goldenResult('profile');
    delete result.memory;
    const page = await opened(pageOf('incomplete', result));
    assert.match(await textOf(page, '#incomplete'), /here is all it has/);
    assert.ok((await page.$$('table')).length > 3);
    await closed(page);
  },
  async 'a study shows its verdict, its charts and its table'() {
    const study = storedResult('study');
    const page = await opened(pageOf('study', study));
    await scrolledThrough(page);
    assert.equal(await textOf(page, '.verdict'), study.verdict.join(' '));
    assert.equal((await page.$$('#charts figure.chart svg')).length, study.charts.length);
    const rows = await page.$$eval('#table tbody tr', (list) =>
      list.map((row) => [...row.children].map((cell) => cell.textContent)),
    );
    study.rows.forEach((row, i) => {
      study.columns.forEach(({ key }, j) => {
        const wanted = row[key];
        assert.ok(typeof wanted === 'number' ? shows(rows[i][j], wanted) : rows[i][j] === wanted, rows[i][j]);
      });
    });
    await closed(page);
  },
  // ECharts rounds the places of lines to two decimals unless it is told otherwise.
  async 'a target line is drawn at the target'() {
    const result = storedResult('optimize');
    result.goal.target_ms = result.before.latency_ms;
    result.trail = result.trail.filter((one) => one.precision !== 'fp32');
    const page = await opened(pageOf('target', result));
    await scrolledTo(page, '#trail .stage');
    await page.waitForSelector('#trail .stage svg path[stroke-dasharray]');
    const middle = (selector) =>
      page.$eval(selector, (one) => one.getBoundingClientRect().x + one.getBoundingClientRect().width / 2);
    const line = await middle('#trail .stage svg path[stroke-dasharray]');
    const legendAndPoint = await page.$$eval('#trail .stage svg path[fill="#0072b2"]', (list) =>
      list.map((one) => one.getBoundingClientRect().x + one.getBoundingClientRect().width / 2),
    );
    assert.ok(
      legendAndPoint.some((point) => Math.abs(point - line) < 2),
      `${line} is none of ${legendAndPoint}`,
    );
    await closed(page);
  },
  async 'a lower bound alone does not say that a stream keeps up'() {
    const result = storedResult('stream_measured');
    result.measured = null;
    const page = await opened(pageOf('forecast', result));
    assert.match(await textOf(page, '#verdict .chip'), /UNKNOWN/);
    assert.doesNotMatch(await textOf(page, '.verdict'), /keeps up/);
    await closed(page);
  },
  async 'a thousand layers open within two seconds, ten thousand open'() {
    for (const [count, most] of [
      [1000, 2000],
      [10000, 20000],
    ]) {
      const result = deepProfile(count);
      delete result.latency.samples_ms;
      const html = pageOf(`deep${count}`, result);
      const page = await opened(html);
      const megabytes = statSync(html).size / 1e6;
      console.log(`    ${count} layers: ${page.opened_ms} ms, ${megabytes.toFixed(2)} MB`);
      if (process.env.ASSAY_TIMED_PAGES) assert.ok(page.opened_ms < most, `${page.opened_ms} ms`);
      assert.ok(megabytes < 2, `${megabytes} MB`);
      assert.ok((await page.$$('#layers tbody tr')).length > 0);
      await page.$eval('#network', (one) => one.scrollIntoView({ behavior: 'instant' }));
      await page.waitForFunction(() => /boxes/.test(document.querySelector('#network [role=status]').textContent));
      await closed(page);
    }
  },
  async 'every chart is saved as SVG, and as PNG with 180 dots per inch'() {
    const result = deepProfile(20);
    result.layers[0].label = '<b>"&\u001b\n';
    const page = await opened(pageOf('saved', result), { dark: true });
    await page.evaluate(() => {
      window.saved = [];
      URL.createObjectURL = (blob) => (window.saved.push(blob), 'data:,');
      HTMLAnchorElement.prototype.click = function () {
        window.savedName = this.download;
      };
    });
    await page.$$eval('.save', (buttons) => buttons.forEach((button) => button.click()));
    const count = (await page.$$('.save')).length;
    await page.waitForFunction((wanted) => window.saved.length === wanted, {}, count);
    const files = await page.evaluate(() =>
      Promise.all(window.saved.map(async (blob) => [blob.type, [...new Uint8Array(await blob.arrayBuffer())]])),
    );
    assert.equal(files.length, 2 * (await page.$$('figure.chart')).length);
    for (const [type, bytes] of files) {
      const data = Buffer.from(bytes);
      if (type === 'image/svg+xml') {
        const isXml = (text) => !new DOMParser().parseFromString(text, 'image/svg+xml').querySelector('parsererror');
        assert.ok(await page.evaluate(isXml, data.toString()));
        assert.match(data.toString(), /^<\?xml[^]*<svg[^]*#ffffff[^]*<\/svg>\s*$/);
      } else {
        assert.equal(data.toString('latin1', 37, 41), 'pHYs');
        assert.equal(data.readUInt32BE(41), Math.round(180 / 0.0254));
      }
    }
    assert.match(await page.evaluate(() => window.savedName), /^[a-z0-9_]+\.(svg|png)$/);
    await closed(page);
  },
  async 'paper has no controls, and the network is drawn on it'() {
    const page = await opened(pageOf('paper', deepProfile(20)), { dark: true });
    await page.emulateMediaType('print');
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
    await page.emulateMediaType('screen');
    const paper = await page.pdf({ format: 'A4' });
    assert.ok(paper.length > 20000);
    const isDrawn = await page.$eval('#network canvas', (canvas) =>
      canvas
        .getContext('2d')
        .getImageData(0, 0, canvas.width, canvas.height)
        .data.some((value) => value > 0),
    );
    assert.ok(isDrawn);
    await page.emulateMediaType('print');
    assert.equal(await page.$eval('nav.sections', (nav) => getComputedStyle(nav).display), 'none');
    await closed(page);
  },
  async 'two profiles are shown side by side'() {
    const page = await opened(pageOf('two', deepProfile(20), deepProfile(30)));
    await scrolledThrough(page);
    assert.match(await textOf(page, 'h1'), /and/);
    const ids = await page.$$eval('[id]', (list) => list.map((one) => one.id));
    assert.equal(new Set(ids).size, ids.length);
    await closed(page);
  },
  async 'the provenance names program, command, machine and hashes'() {
    const result = goldenResult('profile');
    result.made_by = { version: '1.2.3', command: 'assay profile x.onnx', compiler: 'GCC 12', libraries: 'oneDNN 2.6' };
    result.model.sha256 = 'ab'.repeat(32);
    const page = await opened(pageOf('provenance', result));
    const text = await textOf(page, '#provenance');
    for (const fact of ['1.2.3', 'assay profile x.onnx', 'oneDNN 2.6', 'ab'.repeat(32), result.machine.processor])
      assert.ok(text.includes(fact), fact);
    await closed(page);
  },
};

const only = process.argv[4];
let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  if (only && !name.includes(only)) continue;
  const start = Date.now();
  try {
    await test();
    console.log(`ok    ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
  } catch (error) {
    ++failed;
    console.log(`FAIL  ${name}\n${String(error.stack).slice(0, 1500)}`);
  }
}
await finish();
process.exit(failed > 0 ? 1 : 0);
