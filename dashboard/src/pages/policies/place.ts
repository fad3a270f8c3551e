// Where a cursor is in the text of a policy: in a condition, at the name of a field, or at a field's value. The text is
// being typed, so it may be incomplete.

import { ensureSyntaxTree, syntaxTree } from '@codemirror/language';
import type { EditorState } from '@codemirror/state';
import { partsOf, type RuleField } from '../../../../src/core/policy/rule-fields.ts';
import { CONDITION_FIELDS, isCondition, keyOf, type Node, tokensOf } from './conditions.ts';

/** What a mapping stands for: `hidden` is a pattern that an entry of `results` hides; the last are fields of a rule that have fields themselves. */
export type Kind = 'policy' | 'rule' | 'limit' | 'result' | 'hidden' | RuleField;

type Place =
  /** `of` is null where the text does not say whose condition it is. */
  | { in: 'condition'; of: Kind | null }
  /** The field whose value is being typed; null where the name of a field is. */
  | { in: Kind; field: string | null };

/** How long the text may be parsed for one completion. */
const PARSE_MS = 100;
const MAPS = ['BlockMapping', 'FlowMapping'];

export function placeAt(state: EditorState, position: number): Place | null {
  const line = state.doc.lineAt(position);
  const written = state.sliceDoc(line.from, position).trimEnd();
  // Spaces at the end of a line lie outside the field that they follow.
  const at = written === '' ? position : line.from + written.length;
  const tree = ensureSyntaxTree(state, at, PARSE_MS) ?? syntaxTree(state);
  const inner = tree.resolveInner(at, -1);
  if (isCondition(state, inner))
    return isInString(state, inner, position) ? null : { in: 'condition', of: ownerOf(state, inner) };
  let field: string | null = null;
  for (let node: Node | null = inner; node !== null; node = node.parent) {
    if (node.name === 'Pair') {
      const colon = node.getChild(':');
      if (colon !== null && colon.to <= at) field ??= keyOf(state, node);
    }
    if (MAPS.includes(node.name)) return placeIn(kindOf(state, node), field);
  }
  if (tree.topNode.getChild('Document')?.getChild('BlockSequence')) return { in: 'rule', field: null };
  return { in: 'policy', field: null };
}

/** The field whose name is at a position, and where the name stands. */
export function fieldAt(state: EditorState, position: number) {
  let key: Node | null = syntaxTree(state).resolveInner(position, 1);
  while (key !== null && key.name !== 'Key') key = key.parent;
  const kind = key?.parent?.parent ? kindOf(state, key.parent.parent) : null;
  if (key?.parent == null || kind === null) return null;
  return { in: kind, name: keyOf(state, key.parent), from: key.from, to: key.to };
}

/** What a condition belongs to. */
function ownerOf(state: EditorState, condition: Node): Kind | null {
  let above: Node | null = condition;
  while (above !== null && !MAPS.includes(above.name)) above = above.parent;
  return above && kindOf(state, above);
}

function placeIn(kind: Kind | null, field: string | null): Place | null {
  if (field !== null && CONDITION_FIELDS.includes(field)) return { in: 'condition', of: kind };
  if (kind === 'policy' && field === 'rules') return { in: 'rule', field: null };
  if (kind === 'policy' && field === 'results') return { in: 'result', field: null };
  return kind === null ? null : { in: kind, field };
}

/** What a mapping of the text stands for. */
function kindOf(state: EditorState, map: Node): Kind | null {
  const above = map.parent;
  if (above?.name === 'Document') return 'policy';
  if (above?.name === 'Item') {
    const holder = above.parent?.parent;
    if (holder?.name === 'Document') return 'rule';
    return (holder?.name === 'Pair' && ITEMS.get(keyOf(state, holder))) || null;
  }
  const key = above?.name === 'Pair' ? keyOf(state, above) : null;
  if (key === 'hide' && above?.parent && kindOf(state, above.parent) === 'result') return 'hidden';
  const isPart = key !== null && partsOf(key).length > 0;
  if (isPart && above?.parent && kindOf(state, above.parent) === 'rule') return key as RuleField;
  const holder = above?.parent?.parent;
  return holder?.name === 'Pair' && keyOf(state, holder) === 'limits' ? 'limit' : null;
}

/** What the items of a list are, by the name of its field. */
const ITEMS: ReadonlyMap<string, Kind> = new Map([
  ['rules', 'rule'],
  ['results', 'result'],
  ['hide', 'hidden'],
]);

function isInString(state: EditorState, condition: Node, position: number): boolean {
  return tokensOf(state, condition).some(
    ({ kind, from, to }) => kind === 'string' && from < position && position < to,
  );
}

/** The names of the limits that the text defines. */
export function limitNames(state: EditorState): string[] {
  const map = syntaxTree(state).topNode.getChild('Document')?.getChild('BlockMapping');
  const limits = map?.getChildren('Pair').find(each => keyOf(state, each) === 'limits');
  const defined = limits?.getChild('BlockMapping') ?? limits?.getChild('FlowMapping');
  return defined?.getChildren('Pair').map(each => keyOf(state, each)) ?? [];
}

/** The names that patterns of `results` have in the text. */
export function hiddenNames(state: EditorState): string[] {
  const named = state.doc.toString().matchAll(/\bas"?:\s*["']?([a-z][a-z0-9_]*)/g);
  return [...new Set(Array.from(named, ([, name = '']) => name))];
}

/** The marks that the text names: those that rules give, and those that conditions look for. */
export function markNames(state: EditorState): string[] {
  const text = state.doc.toString();
  const given = Array.from(text.matchAll(/\bmarks"?:\s*(\[[^\]]*\]|[\w"'-]+)/g), ([, value = '']) => value);
  const read = Array.from(text.matchAll(/["']([a-z][a-z0-9-]*)["'] in marks\b/g), ([, name = '']) => name);
  return [...new Set([...given.flatMap(each => each.match(/[a-z][a-z0-9-]*/g) ?? []), ...read])];
}
