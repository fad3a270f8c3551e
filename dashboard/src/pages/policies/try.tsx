// "Try a call": a form for a call that is tried on the text in the editor, and the decision with its trace.

import { useMemo, useState } from 'preact/hooks';
import { Field } from '../../components/field.tsx';
import { DecisionBadge, Named } from '../../components/text.tsx';
import { ShownDetails } from '../approvals/details.tsx';
import { Brought } from './brought.tsx';
import { compiledDraft, type Draft } from './draft.ts';
import { limitWords } from './limit-words.ts';
import { Trace } from './trace.tsx';
import { EMPTY_FORM, type Form, tryCall } from './tried.ts';

interface TryProps {
  draft: Draft;
  /** The name of the policy, for a text that has none. */
  name: string;
  goTo: (line: number) => void;
}

export function Try({ draft, name, goTo }: TryProps) {
  const [form, setForm] = useState(EMPTY_FORM);
  return (
    <section class="try" aria-label="Try a call">
      <Inputs form={form} change={part => setForm({ ...form, ...part })} draft={draft} />
      <div class="tried" aria-live="polite">
        {form.tool !== '' && <Tried form={form} draft={draft} name={name} goTo={goTo} />}
      </div>
    </section>
  );
}

interface InputsProps {
  form: Form;
  change: (part: Partial<Form>) => void;
  draft: Draft;
}

function Inputs({ form, change, draft }: InputsProps) {
  return (
    <div class="stack">
      <Text
        label="Try a tool"
        hint="A full name such as github__create_issue, or a bare one. Tried on the text above, saved or not; nothing is sent."
        value={form.tool}
        placeholder="github__create_issue"
        write={tool => change({ tool })}
      />
      <Lines
        label="Arguments"
        hint="A JSON object. Conditions read it as args."
        value={form.args}
        placeholder='{ "amount": 40, "currency": "EUR" }'
        write={args => change({ args })}
      />
      <Lines
        label="Result"
        hint="What the call brings back: a text, or the JSON of an MCP result. It stays in this browser."
        value={form.result}
        placeholder="Write to ann@example.com."
        write={result => change({ result })}
      />
      <details class="circumstances">
        <summary>Key, session, person, time, limits and what the run has met</summary>
        <div class="pairs">
          <Text label="Key" hint="Its name." value={form.keyName} write={keyName => change({ keyName })} />
          <Text
            label="Session"
            hint="Its label."
            value={form.session}
            write={session => change({ session })}
          />
          <Text
            label="Attributes"
            hint="Of the session, a JSON object."
            value={form.attributes}
            write={attributes => change({ attributes })}
          />
          <Text
            label="Person"
            hint="An e-mail address."
            value={form.person}
            write={person => change({ person })}
          />
          <Text
            label="Folder"
            hint="In which a coding agent works, if the tool is its own."
            value={form.folder}
            write={folder => change({ folder })}
          />
          <Field label="Time" hint="In your zone; now if it is empty.">
            {ties => (
              <input
                {...ties}
                type="datetime-local"
                value={form.at}
                onInput={event => change({ at: event.currentTarget.value })}
              />
            )}
          </Field>
          <Text
            label="Marks"
            hint="Those of the run, with commas between them."
            value={form.marks}
            write={marks => change({ marks })}
          />
          <Text
            label="Known"
            hint="What the person or a trusted tool has said in the run."
            value={form.known}
            write={known => change({ known })}
          />
          {Object.entries(draft.policy?.limits ?? {}).map(([limit, definition]) => (
            <Text
              key={limit}
              label={`Used of ${limit}`}
              hint={limitWords(definition)}
              value={Object.hasOwn(form.used, limit) ? (form.used[limit] ?? '') : ''}
              placeholder="0"
              write={text => change({ used: { ...form.used, [limit]: text } })}
            />
          ))}
        </div>
      </details>
    </div>
  );
}

interface TextProps {
  label: string;
  hint?: string;
  value: string;
  placeholder?: string;
  write: (text: string) => void;
}

function Text({ label, hint, value, placeholder, write }: TextProps) {
  return (
    <Field label={label} {...(hint === undefined ? {} : { hint })}>
      {ties => (
        <input
          {...ties}
          class="mono"
          value={value}
          placeholder={placeholder}
          autocomplete="off"
          spellcheck={false}
          onInput={event => write(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** The same for a text of several lines. */
function Lines({ label, hint, value, placeholder, write }: TextProps) {
  return (
    <Field label={label} {...(hint === undefined ? {} : { hint })}>
      {ties => (
        <textarea
          {...ties}
          class="mono"
          rows={3}
          value={value}
          placeholder={placeholder}
          autocomplete="off"
          spellcheck={false}
          onInput={event => write(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

function Tried({ form, draft, name, goTo }: TryProps & { form: Form }) {
  const policy = useMemo(() => compiledDraft(draft, name), [draft, name]);
  if (policy === null) return <p class="soft">Fix the errors first.</p>;
  const tried = tryCall(policy, form);
  if (typeof tried === 'string') return <p class="wrong">{tried}</p>;
  return (
    <>
      <p>
        <DecisionBadge decision={tried.decision} /> <Named text={tried.reason} />
      </p>
      {tried.details !== null && (
        <section aria-label="What approvers see">
          <p class="soft">Approvers see:</p>
          <ShownDetails of={tried.details} place="page" />
        </section>
      )}
      {form.result.trim() !== '' && <Brought of={tried.brought} />}
      <Trace tried={tried} rules={policy.rules} lines={draft.lines} goTo={goTo} />
    </>
  );
}
