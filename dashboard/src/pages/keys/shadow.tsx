// The shadow of a key: the policy that also judges its calls, where the two agree and where not, and the step by which the
// shadow becomes the key's policy.

import { useState } from 'preact/hooks';
import { announce } from '../../announce.ts';
import { patch } from '../../api.ts';
import { CHANGE_COLUMNS, type ChangedCalls, TOOL_COLUMN } from '../../components/changed-calls.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Facts, Panel } from '../../components/page.tsx';
import { SPANS, type Span, SpanChoice, since } from '../../components/span-choice.tsx';
import { Empty, Loading, Problem } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { Named, Time } from '../../components/text.tsx';
import { useGet } from '../../load.ts';
import type { Key, Policy, ShadowReport } from '../../resources.ts';
import { mayAdminister } from '../../session.ts';
import { addressOf } from '../audit/filters.ts';
import { PolicyLink } from './parts.tsx';
import { Promote } from './promote.tsx';
import { SetShadow } from './set-shadow.tsx';

interface ShadowProps {
  of: Key;
  policies: readonly Policy[];
  reload: () => void;
}

export function Shadow({ of: key, policies, reload }: ShadowProps) {
  const mayChange = mayAdminister.value && key.revokedAt === null;
  if (key.shadowPolicyId === null)
    return (
      <Panel title="This key has no shadow">
        <div class="stack">
          <p>
            <PolicyLink id={key.policyId} policy={policies.find(({ id }) => id === key.policyId)} /> decides
            the calls of this key.
          </p>
          <p>
            A shadow is a second policy. It judges each call of this key too, with the arguments, and what it
            says is recorded beside the verdict. It changes nothing: the agent does not notice, nobody is
            asked, and no limit is counted.
          </p>
          <p>
            So a strict policy can be tried on real calls: let the key’s policy allow everything (
            <code>allow *</code>), make the strict one its shadow, watch a week, and promote it.
          </p>
          {mayChange && <SetShadow of={key} policies={policies} reload={reload} />}
        </div>
      </Panel>
    );
  return <Known of={key} shadowId={key.shadowPolicyId} {...{ policies, reload, mayChange }} />;
}

/** The same times, as the audit log's address names them. */
const WITHIN: Record<Span, string> = { '24 hours': '24h', '7 days': '7d', '30 days': '30d' };

interface KnownProps extends ShadowProps {
  shadowId: string;
  mayChange: boolean;
}

function Known({ of: key, shadowId, policies, reload, mayChange }: KnownProps) {
  const [span, setSpan] = useState<Span>('7 days');
  const [from, setFrom] = useState(() => since(span));
  const report = useGet<ShadowReport>(`/keys/${key.id}/shadow`, { from });
  const choose = (chosen: Span) => {
    setSpan(chosen);
    setFrom(since(chosen));
  };
  const policyOf = (id: string) => policies.find(policy => policy.id === id);
  const link = (id: string) => <PolicyLink key="" id={id} policy={policyOf(id)} />;
  const nameOf = (id: string) => policyOf(id)?.name ?? id;
  const stop = async () => {
    await patch(`/keys/${key.id}`, { shadowPolicyId: null });
    announce('The shadow has ended.');
    reload();
  };
  return (
    <>
      <Panel
        title="Policy and shadow"
        aside={
          mayChange && (
            <div class="actions">
              <Confirm label="End the shadow" title="End the shadow?" action="End" run={stop}>
                <Named text={nameOf(shadowId)} /> judges no further calls of this key. What it said stays in
                the audit log.
              </Confirm>
              <Promote
                of={key}
                names={{ before: nameOf(key.policyId), after: nameOf(shadowId) }}
                report={report.data}
                span={span}
                reload={reload}
              />
            </div>
          )
        }
      >
        <Facts
          facts={[
            ['Decides', link(key.policyId)],
            ['Its shadow', link(shadowId)],
          ]}
        />
      </Panel>
      <Panel
        title="What the shadow says"
        aside={<SpanChoice label="Compare the calls of the" span={span} setSpan={choose} />}
      >
        <Problem error={report.error} retry={report.reload} />
        {report.data === undefined && report.error === null && <Loading />}
        {report.data !== undefined && (
          <div class={report.loading ? 'stack read again' : 'stack read'} aria-busy={report.loading}>
            <Report of={report.data} span={span} />
            <p class="actions">
              <button type="button" class="plain small" onClick={() => choose(span)}>
                Compare again
              </button>
              {report.data.agreements < report.data.calls && (
                <a
                  class="aligned"
                  href={addressOf({ keyId: key.id, shadow: 'differs', within: WITHIN[span] })}
                >
                  All of them in the audit log
                </a>
              )}
            </p>
          </div>
        )}
      </Panel>
    </>
  );
}

/** The counts begin at a whole minute. */
const SLACK_MS = 120_000;
const MOST_ROWS = 100;
const keyOf = ({ serverName, toolName, from, to }: ChangedCalls) =>
  JSON.stringify([serverName, toolName, from, to]);

function Report({ of: { calls, agreements, differences, from }, span }: { of: ShadowReport; span: Span }) {
  if (calls === 0)
    return (
      <Empty title={`The shadow judged no call in the last ${span}`}>
        It judges every call of this key from the moment it was set. What is counted begins anew when the
        policy of the shadow is changed.
      </Empty>
    );
  const more = differences.length - MOST_ROWS;
  const unlisted = calls - agreements - differences.reduce((sum, each) => sum + each.calls, 0);
  return (
    <>
      <div>
        <p class="replay-line" role="status">
          {reportWords(calls, agreements)}
        </p>
        {Date.parse(from) > Date.now() - SPANS[span] + SLACK_MS && (
          <p class="soft small">
            Calls are counted since <Time at={from} />.
          </p>
        )}
      </div>
      {differences.length > 0 && (
        <Table
          caption="Calls that the shadow decides otherwise"
          columns={[TOOL_COLUMN, ...CHANGE_COLUMNS]}
          rows={differences.slice(0, MOST_ROWS)}
          keyOf={keyOf}
        />
      )}
      {more > 0 && <p class="soft">And {more} further rows with fewer calls.</p>}
      {unlisted > 0 && (
        <p class="soft">
          And {unlisted.toLocaleString('en')} calls of too many different tools to be listed: the audit log
          has them.
        </p>
      )}
    </>
  );
}

function reportWords(calls: number, agreements: number): string {
  const among = calls === 1 ? '1 call' : `${calls.toLocaleString('en')} calls`;
  const others = calls - agreements;
  if (others === 0) return `Both decide alike: ${among}, no difference.`;
  return `${others.toLocaleString('en')} of ${among} would be decided otherwise; on ${agreements.toLocaleString('en')} both agree.`;
}
