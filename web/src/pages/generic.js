// Any result without a page of its own, as tables.
import { capital, figure, heading, listText, modelTitle, words } from '../format.js';
import { genericTable, section } from '../parts.js';
import { factTable } from '../table.js';

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

function content(key, value) {
  if (Array.isArray(value))
    return value.length > 0 && value.every(isObject) ? genericTable(value, words(key)) : listText(key, value, 40);
  if (isObject(value))
    return factTable(
      Object.entries(value).map(([inner, held]) => [heading(inner), content(inner, held)]),
      words(key),
    );
  return figure(key, value);
}

export function genericPage(result) {
  const simple = Object.entries(result).filter(
    ([key, value]) => key !== 'schema' && (value === null || typeof value !== 'object'),
  );
  const complex = Object.entries(result).filter(
    ([key, value]) => key !== 'made_by' && value !== null && typeof value === 'object' && Object.keys(value).length > 0,
  );
  const name = typeof result.model === 'string' ? result.model : result.model?.name;
  return {
    kind: capital(words(result.schema.replace(/^assay\./, '').replace(/\/\d+$/, '')).replace(/-/g, ' ')),
    title: name ? modelTitle(name) : '',
    setting: '',
    sections: [
      simple.length > 0 &&
        section(
          'figures',
          'Figures',
          null,
          factTable(
            simple.map(([key, value]) => [heading(key), figure(key, value)]),
            'Figures',
          ),
        ),
      ...complex.map(([key, value]) => section(`key-${key}`, capital(words(key)), null, content(key, value))),
    ],
    facts: [],
  };
}
