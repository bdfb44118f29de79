// Opens pages in headless Chromium: node page_test.mjs ASSAY GOLDEN_FOLDER. Exits with 77, which means skipped, where
// Chromium or puppeteer-core is missing.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [, , assay, golden] = process.argv;
const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
const puppeteer = await import('puppeteer-core').then(
  (module) => module.default,
  () => null,
);
if (!chromium || !puppeteer) {
  console.log('skipped: chromium or puppeteer-core is missing');
  process.exit(77);
}

const folder = mkdtempSync(join(tmpdir(), 'assay-page-'));
const browser = await puppeteer.launch({ executablePath: chromium, args: ['--no-sandbox', '--disable-gpu'] });
const hostile = [
  '</script><script>window.hit=1</script>',
  '<img src=x onerror="window.hit=1">',
  '"\'`${1}\\',
  `long${'x'.repeat(10000)}`,
  'two\nlines 🦜 \u2028',
];

function pageOf(name, ...results) {
  const files = results.map((result, i) => {
    const file = join(folder, `${name}${i}.json`);
    writeFileSync(file, typeof result === 'string' ? result : JSON.stringify(result));
    return file;
  });
  const html = join(folder, `${name}.html`);
  execFileSync(assay, ['report', ...files, '-o', html, '-q']);
  return html;
}

// A page that was opened without any message, error or request.
async function opened(html, { width = 1280, dark = false } = {}) {
  const page = await browser.newPage();
  page.problems = [];
  page.on('console', (message) => page.problems.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => page.problems.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    page.problems.push('a dialog');
    dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!/^(file|data|blob):/.test(request.url())) page.problems.push(`fetches ${request.url()}`);
  });
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }]);
  const start = Date.now();
  await page.goto(`file://${html}`);
  await page.waitForFunction(() => document.documentElement.dataset.ready);
  page.opened_ms = Date.now() - start;
  return page;
}

async function scrolledThrough(page) {
  await page.evaluate(async () => {
    for (let y = 0; y < document.body.scrollHeight; y += 500) {
      window.scrollTo(0, y);
      await new Promise((resolve) => {
        setTimeout(resolve, 40);
      });
    }
  });
}

async function closed(page) {
  assert.deepEqual(page.problems, []);
  await page.close();
}

const at = (result, key) => key.split('.').reduce((value, part) => value?.[part], result);
const column = (page, n) =>
  page.$$eval(`#layers tbody tr > :nth-child(${n})`, (cells) => cells.map((cell) => cell.textContent));

// Layers in a chain, in modules of ten.
function deepProfile(count) {
  const result = JSON.parse(readFileSync(join(golden, 'profile.json'), 'utf8'));
  const layer = result.layers[0];
  const step = result.steps[0];
  const names = Array.from(
    { length: count },
    (_, i) => `net.stage${Math.floor(i / 100)}.block${Math.floor(i / 10)}.conv${i}`,
  );
  result.layers = names.map((name, i) => ({
    ...layer,
    name,
    node: i,
    time_ms: 0.01 + (i % 17) / 100,
    share: 1 / count,
  }));
  result.steps = names.map((name, i) => ({
    ...step,
    name,
    nodes: [i],
    layers: [name],
    time_ms: 0.01 + (i % 17) / 100,
    share: 1 / count,
  }));
  result.edges = names.slice(1).map((_, i) => [i, i + 1]);
  result.memory.buffers = names.map((name, i) => ({
    name,
    bytes: 4096 * (1 + (i % 9)),
    offset: 0,
    first_step: i,
    last_step: Math.min(count - 1, i + 2),
  }));
  return result;
}

const tests = {
  async 'every kind of result opens without an error'() {
    for (const file of readdirSync(golden).filter((name) => name.endsWith('.json') && !/trace|benchmark/.test(name))) {
      const text = readFileSync(join(golden, file), 'utf8');
      if (!/^assay\./.test(JSON.parse(text).schema ?? '')) continue;
      const page = await opened(pageOf(`kind-${file.replace('.json', '')}`, text));
      await scrolledThrough(page);
      assert.equal(await page.$('#incomplete'), null, file);
      await closed(page);
    }
  },
  async 'figures are those of the result'() {
    const result = deepProfile(40);
    const page = await opened(pageOf('figures', result));
    const figures = await page.$$eval('[data-key]', (list) =>
      list.map((one) => [one.dataset.key, Number(one.dataset.value)]),
    );
    assert.ok(figures.length >= 5);
    for (const [key, value] of figures) assert.equal(value, at(result, key), key);
    assert.match(await page.$eval('#verdict', (one) => one.textContent), /2\.000 ms/);
    await closed(page);
  },
  async 'the table sorts, filters and searches'() {
    const page = await opened(pageOf('table', deepProfile(60)));
    const times = async () => (await column(page, 3)).map((text) => parseFloat(text) * (/ms/.test(text) ? 1000 : 1));
    const falling = await times();
    assert.deepEqual(
      falling,
      [...falling].sort((a, b) => b - a),
    );
    const heading = await page.$('#layers thead th:nth-child(3) .sort');
    await heading.focus();
    await page.keyboard.press('Enter');
    const rising = await times();
    assert.deepEqual(
      rising,
      [...rising].sort((a, b) => a - b),
    );
    assert.equal(await page.$eval('#layers thead th:nth-child(3)', (head) => head.ariaSort), 'ascending');
    await page.type('#layers input[type=search]', 'conv7');
    assert.equal((await column(page, 2)).length, 1);
    assert.match(await page.$eval('#layers .table-status', (one) => one.textContent), /1 of 60 rows/);
    await closed(page);
  },
  async 'a point of the roofline tells its figures and leads to its row'() {
    const page = await opened(pageOf('roofline', JSON.parse(readFileSync(join(golden, 'profile.json'), 'utf8'))));
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
  async 'a table is behind every chart'() {
    const page = await opened(pageOf('behind', deepProfile(20)));
    await scrolledThrough(page);
    const without = await page.$$eval(
      'figure.chart',
      (list) => list.filter((one) => !one.querySelector('details.behind')).length,
    );
    assert.equal(without, 0);
    for (const details of await page.$$('details.behind > summary')) await details.evaluate((one) => one.click());
    await page.waitForFunction(() =>
      [...document.querySelectorAll('details.behind')].every((one) => one.querySelector('table')),
    );
    await closed(page);
  },
  async 'the network folds, zooms and moves by keyboard'() {
    const page = await opened(pageOf('network', deepProfile(1000)));
    await page.$eval('#network', (one) => one.scrollIntoView({ behavior: 'instant' }));
    await page.waitForFunction(() => /boxes/.test(document.querySelector('#network [role=status]').textContent));
    await page.focus('#network canvas');
    for (const key of ['+', '-', 'ArrowRight', '0']) await page.keyboard.press(key);
    const start = Date.now();
    await page.evaluate(() =>
      [...document.querySelectorAll('#network button')].find((one) => one.textContent === 'open all').click(),
    );
    assert.match(await page.$eval('#network [role=status]', (one) => one.textContent), /1000 boxes/);
    console.log(`    1,000 boxes arranged in ${Date.now() - start} ms`);
    await closed(page);
  },
  async 'dark and light have enough contrast'() {
    const html = pageOf('dark', deepProfile(20));
    for (const dark of [false, true]) {
      const page = await opened(html, { dark });
      const weak = await page.evaluate(() => {
        const parse = (text) => text.match(/[\d.]+/g).map(Number);
        const light = (rgb) => {
          const [r, g, b] = rgb.map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const behind = (element) => {
          for (let one = element; one; one = one.parentElement) {
            const colour = parse(getComputedStyle(one).backgroundColor);
            if (colour.length < 4 || colour[3] > 0.5) return colour;
          }
          return [255, 255, 255];
        };
        return [...document.querySelectorAll('p, h1, h2, a, td, th, button, li, summary, .chip')]
          .filter((one) => one.textContent.trim() && one.offsetParent)
          .map((one) => {
            const [a, b] = [light(parse(getComputedStyle(one).color)), light(behind(one))].sort((x, y) => y - x);
            return [(a + 0.05) / (b + 0.05), `${one.tagName}.${one.className} ${one.textContent.slice(0, 30)}`];
          })
          .filter(([ratio]) => ratio < 4.5);
      });
      assert.deepEqual(weak, []);
      const before = await page.$eval('body', (body) => getComputedStyle(body).backgroundColor);
      await page.click('button.theme');
      assert.notEqual(await page.$eval('body', (body) => getComputedStyle(body).backgroundColor), before);
      await closed(page);
    }
  },
  async 'a phone of 360 pixels shows it without scrolling sideways'() {
    const page = await opened(pageOf('phone', deepProfile(60)), { width: 360 });
    await scrolledThrough(page);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
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
    const text = await page.$eval('body', (body) => body.textContent);
    for (const name of hostile) assert.ok(text.includes(name), name.slice(0, 40));
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
    await closed(page);
  },
  async 'a thousand layers open within two seconds, ten thousand open'() {
    for (const [count, most] of [
      [1000, 2000],
      [10000, 20000],
    ]) {
      const html = pageOf(`deep${count}`, deepProfile(count));
      const page = await opened(html);
      console.log(`    ${count} layers: ${page.opened_ms} ms, ${(statSync(html).size / 1e6).toFixed(2)} MB`);
      if (process.env.ASSAY_TIMED_PAGES) assert.ok(page.opened_ms < most, `${page.opened_ms} ms`);
      await page.$eval('#network', (one) => one.scrollIntoView({ behavior: 'instant' }));
      await page.waitForFunction(() => /boxes/.test(document.querySelector('#network [role=status]').textContent));
      await closed(page);
    }
  },
  async 'paper has no controls'() {
    const page = await opened(pageOf('paper', deepProfile(20)));
    await page.emulateMediaType('print');
    assert.equal(await page.$eval('nav.sections', (nav) => getComputedStyle(nav).display), 'none');
    await closed(page);
  },
  async 'two profiles are shown side by side'() {
    const page = await opened(pageOf('two', deepProfile(20), deepProfile(30)));
    await scrolledThrough(page);
    assert.match(await page.$eval('h1', (one) => one.textContent), /and/);
    const ids = await page.$$eval('[id]', (list) => list.map((one) => one.id));
    assert.equal(new Set(ids).size, ids.length);
    await closed(page);
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
    console.log(`ok    ${name}`);
  } catch (error) {
    ++failed;
    console.log(`FAIL  ${name}\n${String(error.stack).slice(0, 1500)}`);
  }
}
await browser.close();
rmSync(folder, { recursive: true, force: true });
process.exit(failed > 0 ? 1 : 0);
