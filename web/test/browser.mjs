// Pages in headless Chromium, for page_test.mjs.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
const puppeteer = await import('puppeteer-core').then(
  (module) => module.default,
  () => null,
);
if (!chromium || !puppeteer) {
  console.log('skipped: chromium or puppeteer-core is missing');
  process.exit(77);
}

const assay = process.argv[2];
const folder = mkdtempSync(join(tmpdir(), 'assay-page-'));
const browser = await puppeteer.launch({ executablePath: chromium, args: ['--no-sandbox', '--disable-gpu'] });

export async function finish() {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}

// The page that 'assay report' writes of some results.
export function pageOf(name, ...results) {
  const files = results.map((result, i) => {
    const file = join(folder, `${name}${i}.json`);
    writeFileSync(file, typeof result === 'string' ? result : JSON.stringify(result));
    return file;
  });
  const html = join(folder, `${name}.html`);
  execFileSync(assay, ['report', ...files, '-o', html, '-q']);
  return html;
}

// Messages, errors, dialogs and requests are problems; closed() checks that there was none.
export async function opened(html, { width = 1280, dark = false } = {}) {
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

export async function closed(page) {
  assert.deepEqual(page.problems, []);
  await page.close();
}

export async function scrolledThrough(page) {
  await page.evaluate(async () => {
    for (let y = 0; y < document.body.scrollHeight; y += 700) {
      window.scrollTo(0, y);
      await new Promise((resolve) => {
        setTimeout(resolve, 25);
      });
    }
  });
}

export const scrolledTo = (page, selector) =>
  page.$eval(selector, (one) => one.scrollIntoView({ behavior: 'instant', block: 'center' }));

export const textOf = (page, selector) => page.$eval(selector, (one) => one.textContent);

export const textsOf = (page, selector) => page.$$eval(selector, (list) => list.map((one) => one.textContent));

export const widthOf = (page) => page.evaluate(() => document.documentElement.scrollWidth);

export async function assertNarrowEnough(page, width, what) {
  const wide = await widthOf(page);
  assert.ok(wide <= width, `${what}: ${wide} pixels wide on a screen of ${width}`);
}

// Moves the pointer over a chart until its tooltip has a text that matches.
export async function hovered(page, selector, pattern, tip = `${selector} .tip`) {
  const { x, y, width, height } = await page.$eval(selector, (one) => one.getBoundingClientRect().toJSON());
  for (const down of [0.5, 0.3, 0.7, 0.85]) {
    for (let across = 0.12; across < 0.95; across += 0.08) {
      await page.mouse.move(x + across * width, y + down * height);
      const text = await page.$$eval(tip, (list) => list.map((one) => one.textContent).join(' '));
      if (pattern.test(text)) return text;
    }
  }
  return assert.fail(`no tooltip of ${selector} matches ${pattern}`);
}

// Texts whose contrast with what is behind them is below 4.5, as WCAG 2 computes it.
export function weakTexts(page) {
  return page.evaluate(() => {
    // [red, green, blue from 0 to 255, alpha]
    const parse = (text) => {
      const [r, g, b, alpha = 1] = text.match(/[\d.]+/g).map(Number);
      return text.startsWith('color(') ? [255 * r, 255 * g, 255 * b, alpha] : [r, g, b, alpha];
    };
    const light = (rgb) => {
      const [r, g, b] = rgb
        .slice(0, 3)
        .map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
      if (!element) return [255, 255, 255];
      const [r, g, b, alpha] = parse(getComputedStyle(element).backgroundColor);
      if (alpha === 1) return [r, g, b];
      return behind(element.parentElement).map((under, i) => alpha * [r, g, b][i] + (1 - alpha) * under);
    };
    return [...document.querySelectorAll('p, h1, h2, h3, a, td, th, button, li, summary, span, input, select')]
      .filter((one) => one.textContent.trim() && one.offsetParent && !one.closest('.stage'))
      .map((one) => {
        const [a, b] = [light(parse(getComputedStyle(one).color)), light(behind(one))].sort((x, y) => y - x);
        return [(a + 0.05) / (b + 0.05), `${one.tagName}.${one.className} ${one.textContent.slice(0, 30)}`];
      })
      .filter(([ratio]) => ratio < 4.5);
  });
}
