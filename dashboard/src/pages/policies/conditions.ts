// The conditions inside the text of a policy: where they stand, and their colours. It reads a text that is being
// typed, so it cuts conditions into tokens leniently; core/condition/ says what is wrong with them.

import { syntaxTree } from '@codemirror/language';
import { type EditorState, Prec, type Range } from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView, ViewPlugin, type ViewUpdate } from '@codemirror/view';
import type { Field } from '../../../../src/core/policy/field-type.ts';
import { LIMIT } from '../../../../src/core/policy/limit-fields.ts';
import { RESULT } from '../../../../src/core/policy/result-fields.ts';
import { RULE } from '../../../../src/core/policy/rule-fields.ts';

export type Node = ReturnType<ReturnType<typeof syntaxTree>['resolveInner']>;

export const CONDITION_FIELDS = Object.entries<Field>({ ...RULE, ...LIMIT, ...RESULT })
  .filter(([, { type }]) => type.offers === 'conditions')
  .map(([name]) => name);
const SCALARS = ['Literal', 'QuotedLiteral', 'BlockLiteralContent'];
/** What lies between a scalar and the field that it belongs to, alone or in a list. */
const BETWEEN = ['Item', 'BlockSequence', 'FlowSequence', 'BlockLiteral'];

/** The name of the field of a `Pair`. */
export function keyOf(state: EditorState, pair: Node): string {
  const key = pair.getChild('Key');
  return key === null ? '' : state.sliceDoc(key.from, key.to).replace(/^(["'])(.*)\1$/, '$2');
}

/** Whether a node of the syntax tree is a condition, by itself or as an item of a list. */
export function isCondition(state: EditorState, node: Node): boolean {
  if (!SCALARS.includes(node.name)) return false;
  let above = node.parent;
  while (above !== null && BETWEEN.includes(above.name)) above = above.parent;
  return above?.name === 'Pair' && CONDITION_FIELDS.includes(keyOf(state, above));
}

export interface Token {
  kind: 'string' | 'comment' | 'number' | 'keyword' | 'call' | 'name' | 'operator' | 'other';
  from: number;
  to: number;
}

// A quote is written twice inside a text in single quotes, and with a backslash inside one in double quotes.
const STRINGS = {
  "'": `''(?:(?!'').)*(?:'')?|"(?:\\\\.|[^"\\\\])*"?`,
  '"': `\\\\"(?:(?!\\\\").)*(?:\\\\")?|'(?:\\\\.|[^'\\\\])*'?`,
  '': `"(?:\\\\.|[^"\\\\])*"?|'(?:\\\\.|[^'\\\\])*'?`,
};
const REST = [
  String.raw`(?<comment>\/\/.*)`,
  String.raw`(?<number>0x[\da-f]+|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)`,
  String.raw`(?<keyword>\b(?:true|false|null|in)\b)`,
  String.raw`(?<call>[a-z_]\w*(?=\s*\())`,
  String.raw`(?<name>[a-z_]\w*)`,
  '(?<operator>[-+*/%<>=!&|?:]+)',
  String.raw`(?<other>\S)`,
].join('|');

/** The tokens of a condition as it stands in the text, with the quotes around it left out. */
export function tokensOf(state: EditorState, { from, to }: { from: number; to: number }): Token[] {
  const written = state.sliceDoc(from, to);
  const quote = /^["']/.exec(written)?.[0] ?? '';
  const end = quote !== '' && written.length > 1 && written.endsWith(quote) ? -1 : undefined;
  const pattern = new RegExp(`(?<string>${STRINGS[quote as keyof typeof STRINGS]})|${REST}`, 'gi');
  return Array.from(written.slice(quote.length, end).matchAll(pattern), found => {
    const [kind] = Object.entries(found.groups ?? {}).find(([, text]) => text !== undefined) ?? ['other'];
    const start = from + quote.length + found.index;
    return { kind: kind as Token['kind'], from: start, to: start + found[0].length };
  });
}

const MARKS = new Map<string, Decoration>();

function markOf(kind: Token['kind']): Decoration {
  const mark = MARKS.get(kind) ?? Decoration.mark({ class: `cm-condition-${kind}` });
  MARKS.set(kind, mark);
  return mark;
}

function marksIn(view: EditorView): DecorationSet {
  const marks: Range<Decoration>[] = [];
  for (const range of view.visibleRanges) {
    syntaxTree(view.state).iterate({
      ...range,
      enter: ({ node }) => {
        if (!isCondition(view.state, node)) return;
        for (const { kind, from, to } of tokensOf(view.state, node)) marks.push(markOf(kind).range(from, to));
      },
    });
  }
  return Decoration.set(marks, true);
}

const PLUGIN = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;

    constructor(view: EditorView) {
      this.decorations = marksIn(view);
    }

    update({ view, startState, docChanged, viewportChanged }: ViewUpdate): void {
      if (docChanged || viewportChanged || syntaxTree(startState) !== syntaxTree(view.state))
        this.decorations = marksIn(view);
    }
  },
  { decorations: plugin => plugin.decorations },
);

const LOOK = EditorView.theme({
  '.cm-condition-string': { color: 'var(--allow)' },
  '.cm-condition-comment, .cm-condition-operator': { color: 'var(--soft)' },
  '.cm-condition-number, .cm-condition-keyword': { color: 'var(--pending)' },
  '.cm-condition-call': { color: 'var(--call)' },
  '.cm-condition-name, .cm-condition-other': { color: 'var(--ink)' },
});

/** Colours conditions inside the colours of YAML. */
export const conditionColours = [Prec.highest(PLUGIN), LOOK];
