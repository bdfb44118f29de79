// Reads the results that the page holds and builds it: a heading, links to the sections, and the sections.
import { append, h, icon } from './dom.js';
import { comparePage, sideBySide } from './pages/compare.js';
import { countPage } from './pages/count.js';
import { fitPage } from './pages/fit.js';
import { genericPage } from './pages/generic.js';
import { optimizePage } from './pages/optimize.js';
import { profilePage } from './pages/profile.js';
import { streamPage } from './pages/stream.js';
import { studyPage } from './pages/study.js';
import { sweepPage } from './pages/sweep.js';
import { sweepSeedsPage } from './pages/sweep_seeds.js';
import { trainingProfilePage, trainPage } from './pages/training.js';
import { section } from './parts.js';
import { provenanceSection } from './provenance.js';
import { toggleTheme } from './theme.js';

const PAGES = {
  profile: profilePage,
  'profile-train': trainingProfilePage,
  count: countPage,
  compare: comparePage,
  sweep: sweepPage,
  sweep_seeds: sweepSeedsPage,
  train: trainPage,
  optimize: optimizePage,
  fit: fitPage,
  stream: streamPage,
  study: studyPage,
};
const kindOf = (result) => /^assay\.([a-z_-]+)\//.exec(result.schema)?.[1];
const isKnown = (result) => Object.hasOwn(PAGES, kindOf(result));

// A result that does not have what its page needs is still shown, as tables.
function pageOf(result) {
  if (!isKnown(result)) return genericPage(result);
  try {
    return PAGES[kindOf(result)](result);
  } catch (error) {
    const page = genericPage(result);
    page.sections.unshift(
      section(
        'incomplete',
        'Incomplete',
        `This result lacks something that its page shows (${error.message}); here is all it has.`,
      ),
    );
    return page;
  }
}

function uniqueIds(sections, prefix) {
  if (!prefix) return;
  for (const one of sections) {
    for (const element of [one, ...one.querySelectorAll('[id]')]) if (element.id) element.id = `${prefix}${element.id}`;
    const label = one.getAttribute('aria-labelledby');
    if (label) one.setAttribute('aria-labelledby', prefix + label);
  }
}

// Several results that one command wrote together are shown one by one, those of several seeds after what they have in
// common.
function expanded(document) {
  const { results, runs, made_by: madeBy } = document.result;
  const together = kindOf(document.result) === 'sweep_seeds' ? runs : results;
  if (!Array.isArray(together) || !together.every(isKnown)) return [document];
  const parts = together.map((result, i) => ({
    ...document,
    name: `${document.name}, ${i + 1} of ${together.length}`,
    result: { made_by: madeBy, ...result },
  }));
  return isKnown(document.result) ? [document, ...parts] : parts;
}

function pagesOf(stored) {
  const documents = stored.flatMap(expanded);
  const pages = documents.map((document) => ({ ...document, page: pageOf(document.result) }));
  const profiles = documents.filter(({ result }) => kindOf(result) === 'profile').map(({ result }) => result);
  if (documents.length === 2 && profiles.length === 2) return [{ page: sideBySide(...profiles) }, ...pages];
  // What has a page of its own comes first.
  return pages.sort((a, b) => isKnown(b.result) - isKnown(a.result));
}

function followSections(links) {
  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        for (const link of links) link.toggleAttribute('aria-current', link.hash === `#${entry.target.id}`);
      }
    },
    { rootMargin: '-15% 0px -75% 0px' },
  );
  for (const link of links) {
    const target = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    if (target) seen.observe(target);
  }
}

function build(data) {
  const pages = pagesOf(data.documents);
  const first = pages[0].page;
  document.title = `${(first.title || first.kind).slice(0, 120)} – assay report`;
  const main = h('main', { id: 'content' });
  const items = [];
  pages.forEach(({ page, name }, i) => {
    const sections = page.sections.filter(Boolean);
    uniqueIds(sections, i > 0 ? `r${i}-` : '');
    if (i > 0)
      main.append(
        h('h2.result-title', { id: `result${i}` }, [page.kind, page.title].filter(Boolean).join(': ')),
        h('p.setting', [name, page.setting].filter(Boolean).join(' · ')),
      );
    if (i > 0) items.push(h('a', { href: `#result${i}` }, (page.title || page.kind).slice(0, 30)));
    append(main, sections);
    if (i === 0)
      items.push(
        ...sections.map((one) => h('a', { href: `#${one.id}` }, one.querySelector('h2')?.textContent ?? 'Summary')),
      );
  });
  main.append(
    provenanceSection(
      data,
      pages.filter((one) => one.result),
    ),
  );
  items.push(h('a', { href: '#provenance' }, 'Provenance'));
  const theme = h(
    'button.theme',
    { type: 'button', 'aria-label': 'Light or dark', title: 'Light or dark', onclick: toggleTheme },
    icon('M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9z'),
  );
  append(document.body, [
    h('a.skip', { href: '#content' }, 'Skip to content'),
    h('header.top', h('div', h('p.kind', first.kind), h('h1', first.title || first.kind), h('p.setting', first.setting)), theme),
    h(
      'nav.sections',
      { 'aria-label': 'Sections' },
      h(
        'ul',
        items.map((item) => h('li', item)),
      ),
    ),
    main,
    h('footer', `Written by assay ${data.version}. This page fetches nothing and sends nothing.`),
  ]);
  followSections(items);
}

// Long results are compressed: zlib, in base64.
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Response(stream).text();
}

function show(text) {
  build(JSON.parse(text));
  document.documentElement.dataset.ready = 'true';
}

const holder = document.getElementById('assay-data');
if (!holder.dataset.packed) {
  show(holder.textContent);
} else if (typeof DecompressionStream === 'undefined') {
  document.body.append(
    h('p', 'This page needs a browser of 2023 or later: its results are compressed, because there are so many layers.'),
  );
} else {
  unpacked(holder.textContent).then(show);
}
