// Bundles the page into one script and one style sheet: node build.mjs [FOLDER]. With a FOLDER it also writes
// page_bundle.cpp there, which makes them part of the program.
import { build } from 'esbuild';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const dist = process.argv[2] ?? join(here, 'dist');

await build({
  entryPoints: [join(here, 'src/main.js')],
  outfile: join(dist, 'page.js'),
  bundle: true,
  minify: true,
  format: 'iife',
  target: ['es2020'],
  charset: 'ascii',
  legalComments: 'none',
  loader: { '.css': 'empty' },
  define: { 'process.env.NODE_ENV': '"production"' },
});
await build({
  entryPoints: [join(here, 'src/page.css')],
  outfile: join(dist, 'page.css'),
  bundle: true,
  minify: true,
  charset: 'ascii',
});

// String literals above 65,536 characters are not portable.
function literals(text) {
  const chunks = [];
  for (let at = 0; at < text.length; at += 16000) chunks.push(text.slice(at, at + 16000));
  if (text.includes(')assaypage"')) throw new Error('the bundle contains the delimiter of its literals');
  return chunks.map((chunk) => `    R"assaypage(${chunk})assaypage",\n`).join('');
}

mkdirSync(dist, { recursive: true });
const script = readFileSync(join(dist, 'page.js'), 'utf8');
const style = readFileSync(join(dist, 'page.css'), 'utf8');
if (/<\/script|<!--/i.test(script)) throw new Error('the bundle would end its own script element');
writeFileSync(
  join(dist, 'page_bundle.cpp'),
  `// Written by web/build.mjs.
#include "report/page_bundle.h"

namespace assay::report {

namespace {

constexpr std::string_view kScript[] = {
${literals(script)}};
constexpr std::string_view kStyle[] = {
${literals(style)}};

}  // namespace

std::span<const std::string_view> page_script() {
  return kScript;
}

std::span<const std::string_view> page_style() {
  return kStyle;
}

}  // namespace assay::report
`,
);
console.log(`page.js ${(script.length / 1024).toFixed(0)} KiB, page.css ${(style.length / 1024).toFixed(0)} KiB`);
