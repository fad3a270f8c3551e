// A policy from the calls of a key, as text to read, copy, or open in the editor. Nothing is applied.

import { useEffect, useState } from 'preact/hooks';
import { post, queryOf } from '../../api.ts';
import { Field } from '../../components/field.tsx';
import { Panel } from '../../components/page.tsx';
import { type Span, SpanChoice, since } from '../../components/span-choice.tsx';
import { Loading, Problem } from '../../components/states.tsx';
import { Copy } from '../../components/text.tsx';
import { useAction } from '../../load.ts';
import type { Key, Suggestion } from '../../resources.ts';
import { mayAdminister } from '../../session.ts';

const MOST_ROWS = 30;

export function Suggest({ of: key }: { of: Key }) {
  const [span, setSpan] = useState<Span>('30 days');
  const [text, setText] = useState<string | null>(null);
  const { busy, error, run } = useAction();
  const ask = () =>
    run(async () => {
      const suggested = await post<Suggestion>(`/keys/${key.id}/suggest`, { from: since(span) });
      setText(suggested.text);
    });
  useEffect(() => {
    ask();
  }, [key.id, span]);
  const editor = `/dashboard/policies/${key.policyId}${queryOf({ suggest: key.id, last: span })}`;
  return (
    <Panel
      title="Make a policy from this key’s calls"
      aside={<SpanChoice label="Look at the calls of the" span={span} setSpan={setSpan} />}
    >
      <div class="stack">
        <p class="soft">
          The rules cover what this key called in this time, and nothing else: what was allowed, asked and
          denied stays so, and every other tool is denied. Nothing is changed until you save it in the editor,
          which shows first what it would have decided otherwise.
        </p>
        <Problem error={error} retry={ask} />
        {text === null && error === null && <Loading lines={8} />}
        {text !== null && (
          <>
            <Field label="The suggested policy">
              {ties => (
                <textarea
                  {...ties}
                  class="mono"
                  readOnly
                  spellcheck={false}
                  rows={Math.min(text.split('\n').length, MOST_ROWS)}
                  aria-busy={busy}
                  value={text}
                />
              )}
            </Field>
            <p class="actions">
              <Copy text={text} label="Copy the policy" wide />
              {mayAdminister.value && (
                <a class="button" href={editor}>
                  Open in the editor
                </a>
              )}
            </p>
          </>
        )}
      </div>
    </Panel>
  );
}
