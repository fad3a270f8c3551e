// One entry of the audit log with all its details, and links to similar entries.

import type { ComponentChildren } from 'preact';
import { surfaceName } from '../../../../src/core/surface.ts';
import { Dialog } from '../../components/dialog.tsx';
import { Facts } from '../../components/page.tsx';
import { RuleLinks } from '../../components/rule-links.tsx';
import { Loading, Problem } from '../../components/states.tsx';
import { DecisionBadge, Id, Named, Time, Tool } from '../../components/text.tsx';
import { useGet } from '../../load.ts';
import { keyName, personName } from '../../names.ts';
import type { WholeAuditEntry } from '../../resources.ts';
import { addressOf, type Filters } from './filters.ts';
import { Sealed } from './sealed.tsx';

type Fact = [string, ComponentChildren];

export function Details({ id, onClose }: { id: string; onClose: () => void }) {
  const { data, error } = useGet<WholeAuditEntry>(`/audit/${id}`);
  return (
    <Dialog title="Audit entry" open wide onClose={onClose}>
      <div class="stack">
        <Problem error={error} />
        {data === undefined && error === null && <Loading />}
        {data !== undefined && <Facts facts={factsOf(data)} />}
        {data !== undefined && <RuleLinks {...data} />}
      </div>
    </Dialog>
  );
}

function factsOf(entry: WholeAuditEntry): Fact[] {
  const { serverName, toolName, keyId, sessionId, personId } = entry;
  const { policyId, policyVersion, ruleIndex, referenceId } = entry;
  const tool = `${serverName}__${toolName}`;
  return [
    ['Decision', <DecisionBadge key="" decision={entry.decision} />],
    ['Tool', <Like key="" filters={{ tool }} what={<Tool serverName={serverName} toolName={toolName} />} />],
    ['Reason', <Named key="" text={entry.reason} />],
    ['Time', <Exact key="" at={entry.at} />],
    ['Key', <Like key="" filters={{ keyId }} what={<Named text={keyName(keyId)} />} />],
    ...(personId === undefined ? [] : [['Person', <Person key="" id={personId} />] as Fact]),
    ['Session', sessionId === null ? 'none' : <Session key="" id={sessionId} />],
    ['Surface', surfaceName(entry.surface)],
    ['Policy', <Policy key="" id={policyId} version={policyVersion} />],
    ['Rule', ruleIndex === null ? 'none' : ruleIndex],
    ['Evaluated in', `${entry.latencyMs} ms`],
    ...(entry.surface === 'mcp' ? [['Forwarded', forwardedOf(entry.forwarded)] as Fact] : []),
    ...(referenceId === null ? [] : [['Approval', <Id key="" id={referenceId} />] as Fact]),
    ['Tool call id', <Id key="" id={entry.id} />],
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

function Session({ id }: { id: string }) {
  return (
    <>
      <Id id={id} /> <a href={addressOf({ sessionId: id })}>show all</a>
    </>
  );
}

function Policy({ id, version }: { id: string; version: number }) {
  return (
    <>
      <a href={`/dashboard/policies/${id}`}>Policy</a>, version {version}
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

function forwardedOf(forwarded: WholeAuditEntry['forwarded']): string {
  if (forwarded === null) return 'no, or not yet known';
  return `${forwarded.outcome}, after ${forwarded.durationMs} ms`;
}
