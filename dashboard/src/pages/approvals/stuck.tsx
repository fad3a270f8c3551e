// What keeps calls from being answered: agents with so many open questions that their further calls are denied, and questions
// for groups in which nobody can answer.

import { useEffect } from 'preact/hooks';
import { groupWarning } from '../../../../src/core/approvals/approval.ts';
import { Named } from '../../components/text.tsx';
import { useGet } from '../../load.ts';
import { pending } from '../../pending.ts';
import type { Waiting } from '../../resources.ts';

/** The list is loaded again after this long without a further change of what waits. */
const SETTLED_MS = 1000;

export function Stuck() {
  const { data, reload } = useGet<Waiting>('/waiting');
  const waiting = pending.value?.length;
  useEffect(() => {
    if (data === undefined) return;
    const timer = setTimeout(reload, SETTLED_MS);
    return () => clearTimeout(timer);
  }, [waiting]);
  if (data === undefined) return null;
  return (
    <>
      {data.full.map(({ keyId, keyName, sessionId, open }) => (
        <p key={`${keyId} ${sessionId}`} class="notice problem">
          <span>
            Agent{' '}
            <b>
              <Named text={keyName} />
            </b>{' '}
            has {open} calls waiting{sessionId !== null && ' in one session'}: further ones are denied until
            some are answered. <a href={`/dashboard/approvals?keyId=${keyId}`}>Show them</a>
          </span>
        </p>
      ))}
      {data.unanswerable.map(lacking => (
        <p key={lacking.group} class="notice problem">
          <span>
            {lacking.open === 1 ? '1 call waits' : `${lacking.open} calls wait`} for the group{' '}
            <b>
              <Named text={lacking.group} />
            </b>
            . <Named text={groupWarning(lacking)} /> <a href="/dashboard/operators">Operators</a>
          </span>
        </p>
      ))}
    </>
  );
}
