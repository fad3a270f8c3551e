// Changes the name and the description inside the text of a policy, where the text contains them. Everything else in the
// text stays as it was written.

import { isMap, isScalar, parseDocument } from 'yaml';
import { safeJson } from '../../../../src/core/text/visible.ts';

export function renamed(text: string, about: { name: string; description: string }): string {
  const { contents } = parseDocument(text);
  if (!isMap(contents)) return text;
  let changed = text;
  let moved = 0;
  for (const { key, value } of contents.items) {
    const field = isScalar(key) ? String(key.value) : '';
    if (!isScalar(value) || (field !== 'name' && field !== 'description')) continue;
    const [from, to] = value.range ?? [0, 0];
    // A block of text ends with the line break.
    const end = text.slice(from, to).endsWith('\n') ? '\n' : '';
    const written = safeJson(about[field]) + end;
    changed = changed.slice(0, from + moved) + written + changed.slice(to + moved);
    moved += written.length - (to - from);
  }
  return changed;
}
