// The course of an approval, step by step: asked, told, voted on, answered, used, forwarded; and what is still to come.

import type { ComponentChildren } from 'preact';
import { OUTCOMES } from '../../../../src/core/approvals/task-text.ts';
import { outcomeText } from '../../../../src/core/results/outcome-text.ts';
import { askerName } from '../../../../src/core/text/surface.ts';
import { inWords, now } from '../../clock.ts';
import { Loading, Problem } from '../../components/states.tsx';
import { Left, Named, Time } from '../../components/text.tsx';
import { useGet } from '../../load.ts';
import type { WholeApproval, WholeAuditEntry } from '../../resources.ts';
import { addressOf } from '../audit/filters.ts';
import { By } from './facts.tsx';
import { UnknownOutcome } from './settle.tsx';
import { usageOf } from './usage.ts';

type State = 'done' | 'now' | 'failed' | 'ahead';

interface Step {
  name: string;
  state: State;
  at: string | null;
  what: ComponentChildren;
}

export function Course({ of: approval }: { of: WholeApproval }) {
  const steps = [asked, notified, votes, answered, used, forwarded].flatMap(step => step(approval) ?? []);
  return (
    <ol class="course">
      {steps.map(({ name, state, at, what }) => (
        <li key={name} data-state={state}>
          <h3>{name}</h3>
          {at !== null && <Time at={at} />}
          <div>{what}</div>
        </li>
      ))}
    </ol>
  );
}

function asked({ surface, createdAt, toolCallId }: WholeApproval): Step {
  return {
    name: 'Asked',
    state: 'done',
    at: createdAt,
    what: (
      <>
        by {askerName(surface)} · <a href={addressOf({}, toolCallId)}>audit entry</a>
      </>
    ),
  };
}

function notified({ notifications, status }: WholeApproval): Step {
  const states = new Set(notifications.map(each => each.state));
  return {
    name: 'Told',
    state: states.has('sent')
      ? 'done'
      : states.has('failed')
        ? 'failed'
        : status === 'pending'
          ? 'now'
          : 'ahead',
    at: null,
    what:
      notifications.length === 0 ? (
        'nobody: no channel is set. The inbox shows the call.'
      ) : (
        <ul class="plain-list">
          {notifications.map(each => (
            <li key={`${each.channel} ${each.time}`}>
              <Message of={each} />
            </li>
          ))}
        </ul>
      ),
  };
}

function Message({
  of: { channel, state, time, lastError },
}: {
  of: WholeApproval['notifications'][number];
}) {
  const at = time === null ? null : <Time at={time} />;
  const error = lastError !== null && (
    <span class="failure">
      {' '}
      (<Named text={lastError} />)
    </span>
  );
  const name = <Named text={channel} />;
  if (state === 'sent')
    return (
      <>
        {name}: sent {at}
      </>
    );
  if (state === 'failed')
    return (
      <>
        {name}: <span class="failure">not sent</span>, given up {at}
        {error}
      </>
    );
  if (state === 'dropped') return <>{name}: not sent, because the question had ended</>;
  if (lastError !== null)
    return (
      <>
        {name}: <span class="failure">not sent yet</span>, next attempt {at}
        {error}
      </>
    );
  const later = time !== null && Date.parse(time) > now.value;
  return later ? (
    <>
      {name}: will be told {at}, if nobody has answered by then
    </>
  ) : (
    <>{name}: is being told</>
  );
}

function votes({ votes: { needed, approved }, approverGroup, proof, status }: WholeApproval): Step | null {
  if (needed === 1 && approverGroup === null && proof === null) return null;
  const open = status === 'pending' && approved.length < needed;
  return {
    name: 'Votes',
    state: open ? 'now' : 'done',
    at: null,
    what: (
      <>
        {approved.length} of {needed}
        {approverGroup !== null && (
          <>
            {' '}
            of <Named text={approverGroup} />
          </>
        )}
        {proof !== null && ', each with a passkey'}
        <ul class="plain-list">
          {approved.map(({ by, at }) => (
            <li key={by}>
              <By by={by} />: approves <Time at={at} />
            </li>
          ))}
        </ul>
      </>
    ),
  };
}

function answered({ status, resolvedAt, resolvedBy, expiresAt, note }: WholeApproval): Step {
  const name = 'Answered';
  if (status === 'pending') {
    const what = (
      <>
        not yet: <Left until={expiresAt} />
      </>
    );
    return { name, state: 'now', at: null, what };
  }
  if (status === 'timed_out')
    return { name, state: 'failed', at: expiresAt, what: 'nobody answered in time' };
  if (status === 'withdrawn')
    return { name, state: 'failed', at: resolvedAt, what: 'no longer asked: the agent withdrew the call' };
  return {
    name,
    state: status === 'approved' ? 'done' : 'failed',
    at: resolvedAt,
    what: (
      <>
        {status} by <By by={resolvedBy} />
        {note !== null && (
          <blockquote class="note">
            <Named text={note} />
          </blockquote>
        )}
      </>
    ),
  };
}

function used(approval: WholeApproval): Step | null {
  if (approval.status !== 'approved') return null;
  const use = usageOf(approval, now.value);
  if (use === null) return null;
  const steps: Record<typeof use.kind, Omit<Step, 'name'>> = {
    grant: {
      state: Date.parse(use.at) > now.value ? 'now' : 'done',
      at: null,
      what: (
        <>
          opened a grant for {inWords(Date.parse(use.at) - Date.parse(approval.resolvedAt ?? use.at))}, until{' '}
          <Time at={use.at} />
        </>
      ),
    },
    spent: {
      state: 'done',
      at: use.at,
      what: (
        <>
          spent: the call was allowed
          {approval.freed !== null && (
            <>
              {' '}
              · <a href={addressOf({}, approval.freed.toolCallId)}>audit entry</a>
            </>
          )}
        </>
      ),
    },
    withdrawn: { state: 'failed', at: use.at, what: 'withdrawn: it frees no call' },
    usable: { state: 'now', at: null, what: <Usable of={approval} until={use.at} /> },
    lapsed: { state: 'failed', at: use.at, what: 'lapsed: the agent did not make the call in time' },
  };
  return { name: 'Used', ...steps[use.kind] };
}

/** Who makes the call that was approved: the agent, or for a task the service itself. */
function Usable({ of: { task }, until }: { of: WholeApproval; until: string }) {
  if (task?.state === 'held') return <>not yet: the call is about to be made</>;
  const agent = (
    <>
      the agent can make the call until <Time at={until} />
    </>
  );
  if (task?.state === 'gone') return <>not yet: the call is no longer held, but {agent}</>;
  if (task?.state === 'ended' && task.toolCallId !== null)
    return (
      <>
        not yet: when it was to be made, it was not allowed any more (
        <a href={addressOf({}, task.toolCallId)}>audit entry</a>); {agent}
      </>
    );
  return <>not yet: {agent}</>;
}

/** The entry of the call says who has settled it. */
function UnknownCall({ id }: { id: string }) {
  const { data, error, reload } = useGet<WholeAuditEntry>(`/audit/${id}`);
  if (data === undefined)
    return error === null ? <Loading lines={1} /> : <Problem error={error} retry={reload} />;
  return <UnknownOutcome of={data} done={reload} />;
}

function forwarded({ surface, freed, task }: WholeApproval): Step | null {
  if (freed === null || surface !== 'mcp') return null;
  const came = freed.forwarded;
  if (came === null) {
    const what = task?.state === 'runs' ? 'the tool works on it' : 'nothing came back yet';
    return { name: 'Forwarded', state: 'now', at: null, what };
  }
  if (came.outcome === 'outcome_unknown')
    return { name: 'Forwarded', state: 'failed', at: came.at, what: <UnknownCall id={freed.toolCallId} /> };
  const guarded = came.result === null ? '' : `; its result: ${outcomeText(came.result)}`;
  return {
    name: 'Forwarded',
    state: came.outcome === 'ok' ? 'done' : 'failed',
    at: came.at,
    what: `${OUTCOMES[came.outcome]}, after ${came.durationMs} ms${guarded}`,
  };
}
