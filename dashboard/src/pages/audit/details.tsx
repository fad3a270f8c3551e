// One entry of the audit log with all its details, and links to similar entries.

import type { ComponentChildren } from 'preact';
import { outcomeText } from '../../../../src/core/results/outcome-text.ts';
import { surfaceName } from '../../../../src/core/text/surface.ts';
import { Dialog } from '../../components/dialog.tsx';
import { Facts } from '../../components/page.tsx';
import { RuleLinks } from '../../components/rule-links.tsx';
import { Loading, Problem } from '../../components/states.tsx';
import { DecisionBadge, Id, Named, StatusBadge, Time, Tool } from '../../components/text.tsx';
import { useGet } from '../../load.ts';
import { keyName, personName } from '../../names.ts';
import type { WholeAuditEntry, WholePolicy } from '../../resources.ts';
import { By } from '../approvals/facts.tsx';
import { UnknownOutcome } from '../approvals/settle.tsx';
import { addressOf, type Filters } from './filters.ts';
import { Sealed } from './sealed.tsx';

type Fact = [string, ComponentChildren];

export function Details({ id, onClose }: { id: string; onClose: () => void }) {
  const { data, error, reload } = useGet<WholeAuditEntry>(`/audit/${id}`);
  return (
    <Dialog title="Audit entry" open wide onClose={onClose}>
      <div class="stack">
        <Problem error={error} />
        {data === undefined && error === null && <Loading />}
        {data !== undefined && <Facts facts={factsOf(data, reload)} />}
        {data !== undefined && <RuleLinks {...data} />}
      </div>
    </Dialog>
  );
}

function factsOf(entry: WholeAuditEntry, reload: () => void): Fact[] {
  const { serverName, toolName, keyId, sessionId, personId } = entry;
  const { policyId, policyVersion, ruleIndex, referenceId, context } = entry;
  const tool = `${serverName}__${toolName}`;
  return [
    ['Decision', <DecisionBadge key="" decision={entry.decision} />],
    ['Tool', <Like key="" filters={{ tool }} what={<Tool serverName={serverName} toolName={toolName} />} />],
    ['Reason', <Named key="" text={entry.reason} />],
    ['Time', <Exact key="" at={entry.at} />],
    ['Key', <Key key="" id={keyId} name={context.keyName} />],
    ...(personId === undefined ? [] : [['Person', <Person key="" id={personId} />] as Fact]),
    ['Session', sessionId === null ? 'none' : <Session key="" id={sessionId} label={context.sessionLabel} />],
    ...(entry.runId === undefined
      ? []
      : [['Run', <Run key="" id={entry.runId} marks={entry.marks ?? []} />] as Fact]),
    ['Surface', surfaceName(entry.surface)],
    ['Policy', <Policy key="" id={policyId} version={policyVersion} context={context} />],
    [
      'Rule',
      ruleIndex === null ? 'none' : <Rule key="" index={ruleIndex} name={entry.reasonCode?.ruleName} />,
    ],
    ...(entry.shadow === undefined ? [] : [['Shadow', <Shadow key="" of={entry.shadow} />] as Fact]),
    ...(referenceId === null
      ? []
      : [['Approval', <Approval key="" id={referenceId} approval={context.approval} />] as Fact]),
    ['Evaluated in', `${entry.latencyMs} ms`],
    ...(entry.surface === 'mcp'
      ? [['Forwarded', <Forwarded key="" of={entry} reload={reload} />] as Fact]
      : []),
    ...(entry.forwarded?.result == null ? [] : [['Result', outcomeText(entry.forwarded.result)] as Fact]),
    ['Tool call id', <Id key="" id={entry.id} />],
    ...(entry.traceId === undefined
      ? []
      : [['Trace', <Trace key="" id={entry.traceId} url={entry.traceUrl} />] as Fact]),
    ['Sealed', <Sealed key="" id={entry.id} />],
  ];
}

/** A link to all entries that have this value. */
function Like({ filters, what }: { filters: Filters; what: ComponentChildren }) {
  return (
    <>
      {what} <a href={addressOf(filters)}>show all</a>
    </>
  );
}

function Person({ id }: { id: string }) {
  return <Like filters={{ personId: id }} what={<Named text={personName(id)} />} />;
}

function Key({ id, name }: { id: string; name: string | null }) {
  return (
    <>
      <a href={`/dashboard/keys/${id}`}>
        <Named text={name ?? keyName(id)} />
      </a>{' '}
      <a href={addressOf({ keyId: id })}>show all</a>
    </>
  );
}

function Session({ id, label }: { id: string; label: string | null }) {
  return (
    <>
      {label !== null && label !== '' && <Named text={label} />} <Id id={id} />{' '}
      <a href={addressOf({ sessionId: id })}>show all</a>
    </>
  );
}

/** The run of the call, and the marks that it had when the call was decided. */
function Run({ id, marks }: { id: string; marks: readonly string[] }) {
  return (
    <>
      {marks.length === 0 ? 'had no marks' : 'had the marks '}
      {marks.map((mark, at) => (
        <span key={mark}>
          {at > 0 && ', '}
          <a href={addressOf({ mark })}>{mark}</a>
        </span>
      ))}{' '}
      · <a href={`/dashboard/runs/${id}`}>open the run</a>
    </>
  );
}

/** `url` leads to whatever the operator looks at traces with. */
function Trace({ id, url }: { id: string; url: string | undefined }) {
  return (
    <>
      <Id id={id} />{' '}
      {url !== undefined && (
        <a href={url} target="_blank" rel="noreferrer">
          open
        </a>
      )}{' '}
      <a href={addressOf({ traceId: id })}>show all</a>
    </>
  );
}

type Context = WholeAuditEntry['context'];

/** An older version leads to what was changed since. */
function Policy({ id, version, context }: { id: string; version: number; context: Context }) {
  const { policyName, policyCurrentVersion } = context;
  if (policyName === null) return <>one that was deleted, version {version}</>;
  return (
    <>
      <a href={`/dashboard/policies/${id}`}>
        <Named text={policyName} />
      </a>
      ,{' '}
      {version === policyCurrentVersion ? (
        `version ${version}`
      ) : (
        <a href={`/dashboard/policies/${id}?compare=${version}`}>version {version}</a>
      )}
    </>
  );
}

/** The number of a rule and, where it had one when it decided, its name. */
function Rule({ index, name }: { index: number; name: string | undefined }) {
  if (name === undefined) return <>{index}</>;
  return (
    <>
      {index} (<Named text={name} />)
    </>
  );
}

/** What the shadow of the key said, which changed nothing. */
function Shadow({
  of: { policyId, policyVersion, decision, ruleIndex },
}: {
  of: NonNullable<WholeAuditEntry['shadow']>;
}) {
  const { data } = useGet<WholePolicy>(`/policies/${policyId}`);
  const name = data?.version === policyVersion ? data.rules[ruleIndex ?? -1]?.name : undefined;
  return (
    <>
      <DecisionBadge decision={decision} /> by{' '}
      <a href={`/dashboard/policies/${policyId}`}>
        <Named text={data?.name ?? `${policyId.slice(0, 8)}…`} />
      </a>
      , version {policyVersion},{' '}
      {ruleIndex === null ? (
        'no rule'
      ) : (
        <>
          rule <Rule index={ruleIndex} name={name} />
        </>
      )}
    </>
  );
}

/** The question that the call asked, or whose answer permitted it. */
function Approval({ id, approval }: { id: string; approval: Context['approval'] }) {
  if (approval === null) return <Id id={id} />;
  const { status, decidedBy, decidedAt, note } = approval;
  return (
    <>
      <StatusBadge status={status} />
      {decidedAt !== null && status !== 'timed_out' && (
        <>
          {' '}
          by <By by={decidedBy} />, <Time at={decidedAt} />
        </>
      )}{' '}
      <a href={`/dashboard/approvals/${id}`}>open</a>
      {note !== null && (
        <blockquote class="note">
          <Named text={note} />
        </blockquote>
      )}
    </>
  );
}

function Exact({ at }: { at: string }) {
  return (
    <>
      <Time at={at} /> <span class="soft">({at})</span>
    </>
  );
}

function Forwarded({ of: entry, reload }: { of: WholeAuditEntry; reload: () => void }) {
  const { forwarded } = entry;
  if (forwarded === null) return <>no, or not yet known</>;
  if (forwarded.outcome === 'outcome_unknown') return <UnknownOutcome of={entry} done={reload} />;
  return (
    <>
      {forwarded.outcome}, after {forwarded.durationMs} ms
    </>
  );
}
