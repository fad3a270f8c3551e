// The text of a policy: the editor, the problems as one types, and what the text decides about a call.

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Problem } from '../../../../src/core/policy-file/policy-file.ts';
import { Loading, Problem as Refused } from '../../components/states.tsx';
import { Named } from '../../components/text.tsx';
import type { AddedLines } from './added-lines.ts';
import { type Draft, draftOf } from './draft.ts';
import type { Editor } from './editor.ts';
import { Try } from './try.tsx';

/** The text that the editor has to show. Each new object replaces what is in the editor. */
export interface ShownText {
  text: string;
  /** What was just added to the text, to be coloured. */
  added: AddedLines | null;
}

interface RulesProps {
  shown: ShownText;
  /** The text as it was last parsed. */
  draft: Draft;
  name: string;
  readOnly: boolean;
  /** Called with every change, before the text is parsed. */
  onText: (text: string) => void;
  onDraft: (draft: Draft) => void;
  /** What can be done with the text; it stands below the problems. */
  children?: ComponentChildren;
}

/** While somebody types, the text is parsed at most this often. */
const PAUSE_MS = 120;

export function Rules({ shown, draft, name, readOnly, onText, onDraft, children }: RulesProps) {
  const editor = useRef<Editor | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const read = (changed: string) => {
    onText(changed);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onDraft(draftOf(changed)), PAUSE_MS);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  const describe = () => {
    editor.current?.mark(draft.problems);
    // A text that is broken right now keeps the numbers that it had.
    if (draft.lines.length > 0 || draft.policy !== null) editor.current?.number(draft.lines);
  };
  // The numbers of rules belong to lines, so the text comes first.
  useEffect(() => editor.current?.setText(shown.text, shown.added), [shown]);
  useEffect(describe, [draft]);
  const opened = (made: Editor) => {
    editor.current = made;
    made.setText(shown.text, shown.added);
    describe();
  };
  return (
    <div class="stack">
      <EditorHost text={shown.text} readOnly={readOnly} onChange={read} onOpened={opened} />
      <Problems problems={draft.problems} goTo={(line, column) => editor.current?.goTo(line, column)} />
      {children}
      <Try draft={draft} name={name} goTo={line => editor.current?.goTo(line)} />
    </div>
  );
}

interface HostProps {
  text: string;
  readOnly: boolean;
  onChange: (text: string) => void;
  onOpened: (editor: Editor) => void;
}

function EditorHost({ text, readOnly, onChange, onOpened }: HostProps) {
  const host = useRef<HTMLDivElement>(null);
  const latest = useRef({ onChange, onOpened });
  latest.current = { onChange, onOpened };
  const [state, setState] = useState<{ ready: boolean; error: Error | null }>({ ready: false, error: null });
  useEffect(() => {
    let open: Editor | null = null;
    let gone = false;
    import('./editor.ts')
      .then(({ openEditor }) => {
        if (gone || host.current === null) return;
        const change = (changed: string) => latest.current.onChange(changed);
        open = openEditor(host.current, { text, label: 'Rules', readOnly, onChange: change });
        latest.current.onOpened(open);
        setState({ ready: true, error: null });
      })
      .catch(error => setState({ ready: false, error }));
    return () => {
      gone = true;
      open?.destroy();
    };
  }, []);
  return (
    <>
      <Refused error={state.error} />
      {!state.ready && state.error === null && <Loading lines={5} />}
      <div ref={host} class="editor" />
    </>
  );
}

function Problems({
  problems,
  goTo,
}: {
  problems: readonly Problem[];
  goTo: (line: number, column: number) => void;
}) {
  return (
    <div aria-live="polite" class="lint">
      {problems.length === 0 ? (
        <p class="soft">No problems found.</p>
      ) : (
        <ul aria-label="Problems">
          {problems.map(({ severity, line, column, message }) => (
            <li key={`${line}:${column}:${message}`} class={severity}>
              <button type="button" class="link" onClick={() => goTo(line, column)}>
                Line {line}, column {column}
              </button>{' '}
              <b>{severity}</b>: <Named text={message} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
