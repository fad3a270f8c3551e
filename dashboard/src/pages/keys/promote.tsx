// The button and the dialog by which the shadow of a key becomes its policy, in one request.

import { useState } from 'preact/hooks';
import { announce } from '../../announce.ts';
import { patch } from '../../api.ts';
import { FormDialog } from '../../components/dialog.tsx';
import type { Span } from '../../components/span-choice.tsx';
import { DecisionBadge, Named } from '../../components/text.tsx';
import type { Key, ShadowReport } from '../../resources.ts';

interface PromoteProps {
  of: Key;
  /** The names of the policies. */
  names: { before: string; after: string };
  /** What is known about differences; undefined while it is loaded. */
  report: ShadowReport | undefined;
  span: Span;
  reload: () => void;
}

export function Promote({ of: key, names, report, span, reload }: PromoteProps) {
  const [open, setOpen] = useState(false);
  const promote = async () => {
    await patch(`/keys/${key.id}`, { policyId: key.shadowPolicyId, shadowPolicyId: null });
    announce(`The policy “${names.after}” decides from now on.`);
    reload();
  };
  return (
    <>
      <button type="button" class="small" onClick={() => setOpen(true)}>
        Promote
      </button>
      <FormDialog
        title="Promote the shadow?"
        open={open}
        onClose={() => setOpen(false)}
        action="Promote"
        submit={promote}
      >
        <div class="stack">
          <p>
            The policy “<Named text={names.after} />” will decide the calls of this key, in place of “
            <Named text={names.before} />
            ”, which itself stays as it is. The key will have no shadow.
          </p>
          {report !== undefined && <Kinds of={report} span={span} />}
        </div>
      </FormDialog>
    </>
  );
}

function Kinds({ of: { calls, differences }, span }: { of: ShadowReport; span: Span }) {
  if (calls === 0)
    return <p class="failed">The shadow judged no call in the last {span}: nobody knows what it will do.</p>;
  if (differences.length === 0) return <p>It would have changed nothing in the last {span}.</p>;
  const kinds = Map.groupBy(differences, ({ from, to }) => `${from} ${to}`);
  return (
    <>
      <p>It would have changed this in the last {span}:</p>
      <ul class="plain-list">
        {[...kinds.values()].map(([first, ...others]) => {
          if (first === undefined) return null;
          const count = [first, ...others].reduce((sum, each) => sum + each.calls, 0);
          return (
            <li key={`${first.from} ${first.to}`}>
              {count === 1 ? '1 call' : `${count.toLocaleString('en')} calls`}:{' '}
              <DecisionBadge decision={first.from} /> → <DecisionBadge decision={first.to} />
            </li>
          );
        })}
      </ul>
    </>
  );
}
