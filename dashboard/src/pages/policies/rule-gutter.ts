// The numbers of the rules beside the lines of the editor, and the colour of lines that were just added. Rules are
// counted from 0, as in the reasons of verdicts, so each number says that it is one of a rule.

import { type EditorState, type Extension, RangeSet, StateEffect, StateField } from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView, GutterMarker, gutter } from '@codemirror/view';
import type { AddedLines } from './added-lines.ts';
import { ruleLabels } from './rule-labels.ts';

class RuleMarker extends GutterMarker {
  readonly label: string;

  constructor(label: string) {
    super();
    this.label = label;
  }

  override eq(other: RuleMarker): boolean {
    return this.label === other.label;
  }

  override toDOM(): Node {
    const element = document.createElement('span');
    element.textContent = this.label;
    element.title = 'The number of the rule, as in the reasons of verdicts. The first rule is rule 0.';
    return element;
  }
}

/** Says on which line each rule begins. */
export const numberRules = StateEffect.define<readonly number[]>();

// While somebody types, the numbers move with the lines until the text has been parsed again.
const NUMBERS = StateField.define<RangeSet<GutterMarker>>({
  create: () => RangeSet.empty,
  update: (numbers, { changes, effects, state }) =>
    effects.reduce(
      (before, effect) => (effect.is(numberRules) ? markersOf(state, effect.value) : before),
      numbers.map(changes),
    ),
});

function markersOf({ doc }: EditorState, lines: readonly number[]): RangeSet<GutterMarker> {
  return RangeSet.of(
    Array.from(ruleLabels(lines))
      .filter(([line]) => line >= 1 && line <= doc.lines)
      .map(([line, label]) => new RuleMarker(label).range(doc.line(line).from)),
    true,
  );
}

/** Colours the lines from the first to the last of a text that was just added; null colours none. */
export const markAdded = StateEffect.define<AddedLines | null>();
const ADDED_LINE = Decoration.line({ class: 'cm-added' });

const ADDED = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (added, { changes, effects, state: { doc } }) =>
    effects.reduce((before, effect) => {
      if (!effect.is(markAdded)) return before;
      const { first, last } = effect.value ?? { first: 1, last: 0 };
      const lines = Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => first + at);
      return Decoration.set(
        lines
          .filter(line => line >= 1 && line <= doc.lines)
          .map(line => ADDED_LINE.range(doc.line(line).from)),
      );
    }, added.map(changes)),
  provide: field => EditorView.decorations.from(field),
});

const LOOK = EditorView.theme({
  '.cm-rule-numbers': {
    minWidth: '3.8em',
    padding: '0 0.4em',
    fontSize: '0.8em',
    lineHeight: '2',
    color: 'var(--accent)',
    whiteSpace: 'nowrap',
  },
  // On a phone the text needs the room.
  '@media (max-width: 40rem)': {
    '.cm-rule-numbers': { minWidth: '0', padding: '0 0.2em', fontSize: '0.7em', lineHeight: '2.29' },
    '.cm-gutter-lint': { width: '0.8em' },
    '.cm-lineNumbers .cm-gutterElement': { padding: '0 2px', minWidth: '0' },
  },
  '.cm-added': { backgroundColor: 'var(--allow-tint)', boxShadow: 'inset 3px 0 var(--allow)' },
});

export const ruleGutter: Extension = [
  NUMBERS,
  ADDED,
  gutter({ class: 'cm-rule-numbers', markers: ({ state }) => state.field(NUMBERS) }),
  LOOK,
];
