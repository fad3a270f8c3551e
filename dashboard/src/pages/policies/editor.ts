// The text editor, which is loaded when a policy is opened. It is in a shadow root: there its styles are adopted by
// script, which the page's content security policy allows, and the page's styles do not apply.

import { autocompletion } from '@codemirror/autocomplete';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import {
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  hoverTooltip,
  lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { minimalSetup } from 'codemirror';
import type { Problem } from '../../../../src/core/policy-file/policy-file.ts';
import type { AddedLines } from './added-lines.ts';
import { complete } from './completion.ts';
import { conditionColours } from './conditions.ts';
import { helpAt } from './field-help.ts';
import { markAdded, numberRules, ruleGutter } from './rule-gutter.ts';

export interface Editor {
  /** Marks the problems in the text. */
  mark: (problems: readonly Problem[]) => void;
  /** Shows the numbers of the rules beside the lines on which they begin. */
  number: (lines: readonly number[]) => void;
  /** Puts the cursor at the beginning of a line, or at a column of it. */
  goTo: (line: number, column?: number) => void;
  /** Replaces the text. If lines of it were just added, they are coloured and scrolled to. */
  setText: (text: string, added: AddedLines | null) => void;
  destroy: () => void;
}

interface EditorOptions {
  text: string;
  /** The accessible name, for screen readers. */
  label: string;
  readOnly: boolean;
  onChange: (text: string) => void;
}

const COLOURS = HighlightStyle.define([
  { tag: [tags.definition(tags.propertyName), tags.propertyName], color: 'var(--accent)' },
  { tag: [tags.string, tags.content], color: 'var(--allow)' },
  { tag: [tags.comment, tags.punctuation, tags.separator, tags.bracket], color: 'var(--soft)' },
  { tag: [tags.keyword, tags.atom], color: 'var(--pending)' },
]);

const LOOK = EditorView.theme({
  '&': { color: 'var(--ink)', backgroundColor: 'var(--ground)', fontSize: '0.93rem', borderRadius: '7px' },
  '&.cm-focused': { outline: '3px solid var(--accent)', outlineOffset: '2px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.6', maxHeight: '60vh', minHeight: '9rem' },
  '.cm-content': { caretColor: 'var(--ink)', padding: '0.5rem 0' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--ground)', color: 'var(--soft)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--tint)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--line)' },
  '.cm-tooltip': { backgroundColor: 'var(--sheet)', color: 'var(--ink)', border: '1px solid var(--edge)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxWidth: 'min(40rem, 90vw)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    backgroundColor: 'var(--accent)',
    color: 'var(--on-accent)',
  },
  '.cm-completionDetail': { fontStyle: 'normal', color: 'var(--soft)' },
  'li[aria-selected] .cm-completionDetail': { color: 'inherit' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '700' },
  // Where there is no room beside the list, it would cover the names. It is still measured, to find out whether there is.
  '.cm-completionInfo-left-narrow, .cm-completionInfo-right-narrow': { visibility: 'hidden' },
  '.cm-completionInfo, .cm-field-help': { maxWidth: 'min(24rem, 90vw)', padding: '0.4rem 0.6rem' },
});

/** Help where the mouse rests on the name of a field. */
const FIELD_HELP = hoverTooltip((view, position) => {
  const found = helpAt(view.state, position);
  if (found === null) return null;
  const dom = document.createElement('div');
  dom.className = 'cm-field-help';
  dom.textContent = found.help;
  return { pos: found.from, end: found.to, above: true, create: () => ({ dom }) };
});

/**
 * We insert text that is typed over a selection ourselves: the browser would wrap it in an element with the style of
 * the replaced text, which the page's content security policy forbids.
 */
const TYPED_OVER = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    if (event.inputType !== 'insertText' || event.data === null || event.isComposing) return false;
    if (view.state.readOnly || view.state.selection.main.empty) return false;
    event.preventDefault();
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: 'input.type', scrollIntoView: true });
    return true;
  },
});

export function openEditor(host: HTMLElement, { text, label, readOnly, onChange }: EditorOptions): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  const view = new EditorView({
    doc: text,
    root,
    parent: root as unknown as Element,
    extensions: [
      minimalSetup,
      lineNumbers(),
      lintGutter(),
      ruleGutter,
      highlightActiveLine(),
      highlightActiveLineGutter(),
      yaml(),
      syntaxHighlighting(COLOURS),
      conditionColours,
      autocompletion({ override: [complete], icons: false }),
      FIELD_HELP,
      LOOK,
      TYPED_OVER,
      EditorView.lineWrapping,
      // The text can be focused anyway, but axe only believes it with a tabindex.
      EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false', tabindex: '0' }),
      EditorState.readOnly.of(readOnly),
      EditorView.updateListener.of(update => {
        if (update.docChanged) onChange(update.state.doc.toString());
      }),
    ],
  });
  return {
    mark: problems =>
      view.dispatch(
        setDiagnostics(
          view.state,
          problems.map(each => diagnostic(view, each)),
        ),
      ),
    goTo: (line, column = 1) => {
      const anchor = offset(view, line, column);
      view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: 'center' }) });
    },
    number: lines => view.dispatch({ effects: numberRules.of(lines) }),
    setText: (changed, added) => {
      if (changed !== view.state.doc.toString())
        view.dispatch({
          changes: { from: 0, to: view.state.doc.length, insert: changed },
          // Undo takes back this change alone, and not what was typed right before it, too.
          userEvent: 'replace',
        });
      view.dispatch({ effects: markAdded.of(added) });
      if (added === null) return;
      const anchor = offset(view, added.first, 1);
      view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: 'center' }) });
    },
    destroy: () => view.destroy(),
  };
}

/** Underlines the name, number or text at the place of a problem, or else the rest of its line. */
function diagnostic(view: EditorView, { severity, line, column, message }: Problem): Diagnostic {
  const from = offset(view, line, column);
  const rest = view.state.sliceDoc(from, view.state.doc.lineAt(from).to);
  const [marked = rest] = /^(?:[\w.]+|"(?:\\.|[^"\\])*"|'[^']*')/.exec(rest) ?? [];
  return { from, to: from + marked.length, severity, message };
}

function offset(view: EditorView, line: number, column: number): number {
  const { doc } = view.state;
  const { from, to } = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return Math.min(from + column - 1, to);
}
