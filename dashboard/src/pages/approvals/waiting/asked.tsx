// What is asked, on a card: what the call would do, who asks, and how much time is left.

import { runsOnApproval } from '../../../../../src/core/approvals/runs-on-approval.ts';
import { askerName } from '../../../../../src/core/text/surface.ts';
import { now } from '../../../clock.ts';
import { Bar } from '../../../components/bar.tsx';
import { Problem } from '../../../components/states.tsx';
import { Ago, Left, Named } from '../../../components/text.tsx';
import { keyName, personName, sessionLabel } from '../../../names.ts';
import type { Approval, WholeApproval } from '../../../resources.ts';
import { CallDetails } from '../details.tsx';
import { DriftMark, Earlier, HasRead, Lacking, ToolDescription } from '../facts.tsx';
import type { Look } from './look.ts';

/** Until it is loaded, it takes about the room that most calls need. */
export function Asked({ approval, look: { whole, error, again } }: { approval: Approval; look: Look }) {
  return (
    <>
      {whole === null && error === null && <p class="not-yet soft">Loading what is asked…</p>}
      {whole === null && <Problem error={error} retry={again} />}
      {whole !== null && <DriftMark of={whole.context} keyId={approval.keyId} />}
      {whole?.status === 'pending' && <Lacking of={whole.lacking} />}
      {whole !== null && <HasRead marks={whole.context.marks} runId={whole.runId} />}
      {whole !== null && <CallDetails of={whole} place="card" />}
      <p class="reason">
        <Named text={approval.reason} />
      </p>
      {whole !== null && <ToolDescription of={whole.context} keyId={approval.keyId} />}
      {whole !== null && <RunsByItself of={whole} />}
      <Asker approval={approval} whole={whole} />
      {whole !== null && (
        <p class="earlier soft small">
          <Earlier earlier={whole.context.earlier} />
        </p>
      )}
    </>
  );
}

export function RunsByItself({ of }: { of: WholeApproval }) {
  const words = runsOnApproval(of);
  return words !== null && <p class="runs-itself">{words}</p>;
}

/** Who asks, since when, and where to read more. */
function Asker({ approval, whole }: { approval: Approval; whole: Look['whole'] }) {
  const { keyId, sessionId, personId, surface, createdAt, toolCallId, referenceId } = approval;
  const label = whole?.context.sessionLabel ?? (sessionId === null ? '' : sessionLabel(sessionId, keyId));
  return (
    <p class="soft small">
      Key <Named text={whole?.context.keyName ?? keyName(keyId)} />
      {personId !== undefined && (
        <>
          {' '}
          · for{' '}
          <b>
            <Named text={whole?.personEmail ?? personName(personId)} />
          </b>
        </>
      )}
      {label !== '' && (
        <>
          {' '}
          · session <Named text={label} />
        </>
      )}{' '}
      · by {askerName(surface)} · asked <Ago at={createdAt} /> ·{' '}
      <a href={`/dashboard/approvals/${referenceId}`}>whole question</a> ·{' '}
      <a href={`/dashboard/audit?entry=${toolCallId}`}>audit entry</a>
    </p>
  );
}

export function TimeLeft({ approval: { createdAt, expiresAt } }: { approval: Approval }) {
  const whole = Date.parse(expiresAt) - Date.parse(createdAt);
  const left = Math.max(0, Date.parse(expiresAt) - now.value);
  return (
    <div class="time-left">
      <Left until={expiresAt} />
      <Bar share={left / whole} tone={left < whole / 10 ? 'deny' : 'accent'} />
    </div>
  );
}
