// The rules of a policy as text: the editor, the problems as one types, and what the rules decide about a tool.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { Problem } from '../../../../src/core/policy-file.ts';
import { Field } from '../../components/field.tsx';
import { Loading, Problem as Refused } from '../../components/states.tsx';
import { DecisionBadge, Named } from '../../components/text.tsx';
import { type Draft, draftOf, tryTool } from './draft.ts';
import type { Editor } from './editor.ts';

interface RulesProps {
  /** The initial text of the editor; another `key` starts a new editor. */
  text: string;
  name: string;
  readOnly: boolean;
  onDraft: (draft: Draft) => void;
}

/** While somebody types, the text is parsed at most this often. */
const PAUSE_MS = 120;

export function Rules({ text, name, readOnly, onDraft }: RulesProps) {
  const [draft, setDraft] = useState(() => draftOf(text));
  const editor = useRef<Editor | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const read = (changed: string) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      const next = draftOf(changed);
      editor.current?.mark(next.problems);
      setDraft(next);
      onDraft(next);
    }, PAUSE_MS);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  const opened = (made: Editor) => {
    editor.current = made;
    made.mark(draft.problems);
  };
  return (
    <div class="stack">
      <EditorHost text={text} readOnly={readOnly} onChange={read} onOpened={opened} />
      <Problems problems={draft.problems} goTo={(line, column) => editor.current?.goTo(line, column)} />
      <TryTool draft={draft} name={name} goTo={line => editor.current?.goTo(line)} />
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
  const latest = useRef(onChange);
  latest.current = onChange;
  const [state, setState] = useState<{ ready: boolean; error: Error | null }>({ ready: false, error: null });
  useEffect(() => {
    let open: Editor | null = null;
    let gone = false;
    import('./editor.ts')
      .then(({ openEditor }) => {
        if (gone || host.current === null) return;
        const change = (changed: string) => latest.current(changed);
        open = openEditor(host.current, { text, label: 'Rules', readOnly, onChange: change });
        onOpened(open);
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

function TryTool({ draft, name, goTo }: { draft: Draft; name: string; goTo: (line: number) => void }) {
  const [tool, setTool] = useState('');
  const hint =
    'A full name such as github__create_issue, or a bare one. Tried on the text above, saved or not.';
  return (
    <div class="try">
      <Field label="Try a tool" hint={hint}>
        {ties => (
          <input
            {...ties}
            class="mono"
            value={tool}
            placeholder="github__create_issue"
            autocomplete="off"
            spellcheck={false}
            onInput={event => setTool(event.currentTarget.value)}
          />
        )}
      </Field>
      <p class="tried" aria-live="polite">
        {tool !== '' && <Tried draft={draft} name={name} tool={tool} goTo={goTo} />}
      </p>
    </div>
  );
}

interface TriedProps {
  draft: Draft;
  name: string;
  tool: string;
  goTo: (line: number) => void;
}

function Tried({ draft: { rules, lines }, name, tool, goTo }: TriedProps) {
  if (rules === null) return <span class="soft">Fix the errors first.</span>;
  const { decision, ruleIndex, reason } = tryTool(name, rules, tool);
  const line = ruleIndex === null ? undefined : lines[ruleIndex];
  return (
    <>
      <DecisionBadge decision={decision} /> <Named text={reason} />{' '}
      {line !== undefined && (
        <button type="button" class="link" onClick={() => goTo(line)}>
          Show rule {ruleIndex}
        </button>
      )}
    </>
  );
}
