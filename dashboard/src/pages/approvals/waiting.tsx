// The calls that wait for an answer, the newest first, with the time left and the possible answers.

import { useRef, useState } from 'preact/hooks';
import { GRANT_DURATIONS } from '../../../../src/core/approval.ts';
import { visible } from '../../../../src/core/visible.ts';
import { announce } from '../../announce.ts';
import { post, Refusal } from '../../api.ts';
import { now } from '../../clock.ts';
import { Bar } from '../../components/bar.tsx';
import { FormDialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { Empty, Loading, Problem } from '../../components/states.tsx';
import { Ago, Left, Named, Tool } from '../../components/text.tsx';
import { useAction } from '../../load.ts';
import { keyName, sessionLabel } from '../../names.ts';
import { loadPending, pending, pendingError, updatePending } from '../../pending.ts';
import type { Approval } from '../../resources.ts';
import { mayResolve } from '../../session.ts';
import { addressOf } from '../audit/filters.ts';

export function Waiting() {
  const list = useRef<HTMLUListElement>(null);
  const shown = pending.value;
  return (
    <>
      <Problem error={pendingError.value} retry={loadPending} />
      {shown === undefined && pendingError.value === null && <Loading />}
      {shown?.length === 0 && (
        <div class="panel">
          <Empty title="Nothing waits for an answer">
            Calls that meet a rule with the action <code>require_approval</code> appear here as soon as they
            wait. Rules are under <a href="/dashboard/policies">Policies</a>.
          </Empty>
        </div>
      )}
      {!mayResolve.value && (shown?.length ?? 0) > 0 && (
        <p class="notice">Your role lets you look. Approvers and admins answer.</p>
      )}
      <ul class="questions" ref={list} tabIndex={-1} aria-label="Waiting for an answer">
        {shown?.map(approval => (
          <Question key={approval.referenceId} approval={approval} done={() => list.current?.focus()} />
        ))}
      </ul>
    </>
  );
}

type Answer = { action: 'approve' | 'deny'; duration?: string };

function Question({ approval, done }: { approval: Approval; done: () => void }) {
  const { serverName, toolName, keyId, reason, surface, createdAt } = approval;
  const { busy, error, run } = useAction();
  const [asksHowLong, setAsksHowLong] = useState(false);
  const tool = visible(`${serverName}__${toolName}`);
  const answer = (given: Answer) =>
    run(async () => {
      await resolve(approval, given);
      done();
    });
  return (
    <li class="question">
      <div class="asked">
        <h2>
          <Tool serverName={serverName} toolName={toolName} />
        </h2>
        <p class="reason">
          <Named text={reason} />
        </p>
        <p class="soft small">
          Key <Named text={keyName(keyId)} />
          <Session approval={approval} /> · by {surface === 'mcp' ? 'the MCP proxy' : 'a check'} · asked{' '}
          <Ago at={createdAt} /> · <a href={addressOf({}, approval.toolCallId)}>audit entry</a>
        </p>
      </div>
      <TimeLeft approval={approval} />
      {mayResolve.value && (
        <div class="answers">
          <button type="button" disabled={busy} onClick={() => answer({ action: 'approve' })}>
            Approve<span class="unseen"> {tool}</span>
          </button>
          <button type="button" class="plain" disabled={busy} onClick={() => setAsksHowLong(true)}>
            Approve for…<span class="unseen"> {tool}</span>
          </button>
          <button type="button" class="plain deny" disabled={busy} onClick={() => answer({ action: 'deny' })}>
            Deny<span class="unseen"> {tool}</span>
          </button>
        </div>
      )}
      <Problem error={error} />
      <HowLong
        approval={approval}
        open={asksHowLong}
        onClose={() => setAsksHowLong(false)}
        answer={async given => {
          await resolve(approval, given);
          done();
        }}
      />
    </li>
  );
}

function Session({ approval: { sessionId, keyId } }: { approval: Approval }) {
  const label = sessionId === null ? '' : sessionLabel(sessionId, keyId);
  if (label === '') return null;
  return (
    <>
      {' '}
      · session <Named text={label} />
    </>
  );
}

async function resolve(approval: Approval, answer: Answer): Promise<void> {
  const { referenceId, serverName, toolName } = approval;
  const tool = `${serverName}__${toolName}`;
  try {
    updatePending(await post<Approval>(`/approvals/${referenceId}/resolve`, answer));
    announce(`${answer.action === 'approve' ? 'Approved' : 'Denied'}: ${tool}`);
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 409) throw error;
    // Somebody else answered first, or the approval has timed out: the call no longer waits.
    announce(error.message);
    await loadPending();
  }
}

function TimeLeft({ approval: { createdAt, expiresAt } }: { approval: Approval }) {
  const whole = Date.parse(expiresAt) - Date.parse(createdAt);
  const left = Math.max(0, Date.parse(expiresAt) - now.value);
  return (
    <div class="time-left">
      <Left until={expiresAt} />
      <Bar share={left / whole} tone={left < whole / 10 ? 'deny' : 'accent'} />
    </div>
  );
}

interface HowLongProps {
  approval: Approval;
  open: boolean;
  onClose: () => void;
  answer: (given: Answer) => Promise<void>;
}

function HowLong({ approval: { keyId, serverName, toolName }, open, onClose, answer }: HowLongProps) {
  const submit = (form: FormData) => answer({ action: 'approve', duration: String(form.get('duration')) });
  return (
    <FormDialog title="Approve for a while" open={open} onClose={onClose} action="Approve" submit={submit}>
      <p>
        Calls of the key{' '}
        <b>
          <Named text={keyName(keyId)} />
        </b>{' '}
        to <Tool serverName={serverName} toolName={toolName} /> go through without asking, until the time is
        over or an admin revokes the grant.
      </p>
      <Field label="For how long">
        {ties => (
          <select name="duration" {...ties}>
            {GRANT_DURATIONS.map(([value, words]) => (
              <option key={value} value={value} selected={value === '1h'}>
                {words}
              </option>
            ))}
          </select>
        )}
      </Field>
    </FormDialog>
  );
}
