// One approval: what the call would do, what is known about it, its course, and what can still be done about it.

import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { isTaskUnderWay } from '../../../../src/core/approvals/task-text.ts';
import { now } from '../../clock.ts';
import { Facts, Page, Panel } from '../../components/page.tsx';
import { RuleLinks } from '../../components/rule-links.tsx';
import { Loading, Problem } from '../../components/states.tsx';
import { Ago, Id, Named, StatusBadge } from '../../components/text.tsx';
import { useLive } from '../../live.ts';
import { useGet } from '../../load.ts';
import { updatePending } from '../../pending.ts';
import type { Approval, WholeApproval } from '../../resources.ts';
import { addressOf } from '../audit/filters.ts';
import { Course } from './course.tsx';
import { CallDetails } from './details.tsx';
import { DriftMark, Earlier, HasRead, Lacking, RecentCalls, RuleLink, ToolDescription } from './facts.tsx';
import { GrantOf } from './grants.tsx';
import { Answers, Votes } from './waiting/answers.tsx';
import { RunsByItself } from './waiting/asked.tsx';
import { Withdraw } from './withdraw.tsx';

export function OneApproval({ id }: { id: string }) {
  const { data, error, reload } = useGet<WholeApproval>(`/approvals/${encodeURIComponent(id)}`);
  useLive({
    gap: reload,
    approval: ({ referenceId }) => referenceId === id && reload(),
    verdict: ({ referenceId }) => referenceId === id && reload(),
  });
  useFollowing(data, reload);
  const all = <a href="/dashboard/approvals">All approvals</a>;
  if (data !== undefined) return <Known of={data} all={all} error={error} reload={reload} />;
  return (
    <Page title="Approval" lead={all}>
      <Problem error={error} />
      {error === null && <Loading />}
    </Page>
  );
}

interface KnownProps {
  of: WholeApproval;
  all: ComponentChildren;
  error: Error | null;
  reload: () => void;
}

function Known({ of: approval, all, error, reload }: KnownProps) {
  const { context } = approval;
  return (
    <Page
      title={`${approval.serverName}__${approval.toolName}`}
      lead={
        <>
          <StatusBadge status={approval.status} /> asked <Ago at={approval.createdAt} /> · {all}
        </>
      }
      actions={<Withdraw approval={approval} done={reload} />}
    >
      <Problem error={error} retry={reload} />
      <div class="approval">
        <div class="stack">
          <Panel title="The call">
            <div class="stack">
              <DriftMark of={context} keyId={approval.keyId} />
              {approval.status === 'pending' && <Lacking of={approval.lacking} />}
              <HasRead marks={context.marks} runId={approval.runId} />
              <CallDetails of={approval} place="page" />
              <p class="reason">
                <Named text={approval.reason} />
              </p>
              <ToolDescription of={context} keyId={approval.keyId} />
              <RunsByItself of={approval} />
              <Answering approval={approval} reload={reload} />
              {context.rule !== null && (
                <RuleLinks {...context.rule} ruleIndex={context.rule.index} {...approval} />
              )}
            </div>
          </Panel>
          {approval.grantExpiresAt !== null && <GrantOf referenceId={approval.referenceId} />}
        </div>
        <Panel title="Course">
          <Course of={approval} />
        </Panel>
        <div class="stack">
          <Panel title="About it">
            <Facts facts={factsOf(approval)} />
          </Panel>
          <Panel title={`Latest calls of the ${approval.sessionId === null ? 'key' : 'session'}`}>
            <RecentCalls calls={context.recentCalls} />
          </Panel>
        </div>
      </div>
    </Page>
  );
}

/** The same answers as in the inbox. The element stays when they disappear, and keeps the focus. */
function Answering({ approval, reload }: { approval: WholeApproval; reload: () => void }) {
  const place = useRef<HTMLDivElement>(null);
  const changed = (is: Approval) => {
    updatePending(is);
    reload();
  };
  const waits = approval.status === 'pending' && Date.parse(approval.expiresAt) > now.value;
  return (
    <div class="answering" ref={place} tabIndex={-1}>
      {waits && (
        <>
          <Votes approval={approval} />
          <Answers
            place="page"
            approval={approval}
            look={{ isNear: true, whole: approval, error: null, again: reload }}
            changed={changed}
            focus={() => place.current?.focus({ preventScroll: true })}
          />
        </>
      )}
    </div>
  );
}

function factsOf(approval: WholeApproval): [string, ComponentChildren][] {
  const { context, keyId, sessionId, personId, personEmail, referenceId } = approval;
  const person: [string, ComponentChildren][] =
    personEmail === undefined ? [] : [['For', <Person key="" id={personId} email={personEmail} />]];
  return [
    ...person,
    [
      'Key',
      <a key="" href={`/dashboard/keys/${keyId}`}>
        <Named text={context.keyName} />
      </a>,
    ],
    [
      'Session',
      sessionId === null ? (
        'none'
      ) : (
        <a key="" href={addressOf({ sessionId })}>
          <Named text={context.sessionLabel ?? sessionId} />
        </a>
      ),
    ],
    ['Rule', <RuleLink key="" rule={context.rule} />],
    ['Before', <Earlier key="" earlier={context.earlier} />],
    ['Reference', <Id key="" id={referenceId} />],
  ];
}

function Person({ id, email }: { id: string | undefined; email: string }) {
  if (id === undefined) return <Named text={email} />;
  return (
    <a href={addressOf({ personId: id })}>
      <Named text={email} />
    </a>
  );
}

const FOLLOW_MS = 2000;
const SOON_MS = 60_000;

/** Messages, votes and outcomes have no live events, so the page reads again while some of them are under way. */
function useFollowing(approval: WholeApproval | undefined, reload: () => void): void {
  const active = approval !== undefined && isUnderWay(approval);
  useEffect(() => {
    if (!active) return;
    const timer = setTimeout(() => document.hidden || reload(), FOLLOW_MS);
    return () => clearTimeout(timer);
  }, [active, approval]);
}

function isUnderWay({ status, votes, notifications, spentAt, surface, freed, task }: WholeApproval): boolean {
  const at = now.peek();
  if (status === 'approved' && isTaskUnderWay(task)) return true;
  if (status === 'pending' && votes.needed > 1) return true;
  if (notifications.some(each => each.state === 'pending' && Date.parse(each.time ?? '') < at + SOON_MS))
    return true;
  const isOut = spentAt !== null && surface === 'mcp' && freed !== null && freed.forwarded === null;
  return isOut && Date.parse(spentAt) > at - SOON_MS;
}
