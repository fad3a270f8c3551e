// What is known about a question from what is stored anyway, in small pieces: the tool's description, whether the tool
// has changed, the rule that asks, earlier answers, and the latest calls of the agent.

import { answeredBy, earlierCounts, lackingText } from '../../../../src/core/approvals/approval.ts';
import { HAS_READ } from '../../../../src/core/approvals/read-marks.ts';
import { Ago, Badge, DecisionBadge, Named, Time, Tool } from '../../components/text.tsx';
import type { WholeApproval } from '../../resources.ts';

type Context = WholeApproval['context'];

/** Who did something, as the service records it. */
export function By({ by }: { by: string | null }) {
  if (by === null) return <span class="soft">nobody</span>;
  return <Named text={answeredBy(by)} />;
}

/** Warns that the tool is not what it was when somebody accepted its definition. */
export function DriftMark({ of: { drifted, connectedTool }, keyId }: { of: Context; keyId: string }) {
  if (!drifted || connectedTool === null) return null;
  return (
    <p class="notice drift">
      <span>
        <Badge tone="pending">changed</Badge> This tool has changed since it was accepted.{' '}
        <a href={placeOf(connectedTool, keyId)}>See what changed</a>
      </span>
    </p>
  );
}

/** Where the definition of the tool is looked at. */
function placeOf({ id, toolServerId }: NonNullable<Context['connectedTool']>, keyId: string): string {
  return toolServerId === null
    ? `/dashboard/keys/${keyId}?tools=${id}`
    : `/dashboard/tool-servers/${toolServerId}`;
}

/** What the run had read when it asked; each mark leads to the call that gave it. */
export function HasRead({ marks, runId }: { marks: Context['marks']; runId: string | undefined }) {
  if (marks.length === 0) return null;
  return (
    <p class="notice">
      <span>
        {HAS_READ}{' '}
        {marks.map(({ name, since, serverName, toolName, toolCallId }, at) => (
          <span key={name}>
            {at > 0 && ', '}
            <b>{name}</b> (
            <a href={`/dashboard/audit?entry=${toolCallId}`}>
              <Tool serverName={serverName} toolName={toolName} />
            </a>
            , <Time at={since} short />)
          </span>
        ))}
        {runId !== undefined && (
          <>
            {' '}
            · <a href={`/dashboard/runs/${runId}`}>its run</a>
          </>
        )}
      </span>
    </p>
  );
}

/** Warns that a group has too few people to answer. */
export function Lacking({ of }: { of: WholeApproval['lacking'] }) {
  if (of === undefined) return null;
  return (
    <p class="notice gone">
      <Named text={lackingText(of)} />
    </p>
  );
}

/** What the tool server says that the tool does, and where all of it is looked at. */
export function ToolDescription({ of: context, keyId }: { of: Context; keyId: string }) {
  const { toolDescription, connectedTool } = context;
  return (
    <>
      {toolDescription !== null && <Description text={toolDescription} />}
      {connectedTool !== null && (
        <p class="small">
          <a href={placeOf(connectedTool, keyId)}>Look at the tool’s definition</a>
        </p>
      )}
    </>
  );
}

function Description({ text }: { text: string }) {
  if (text.length <= SHORT) return <p class="tool-description">{<Named text={text} />}</p>;
  return (
    <details class="tool-description">
      <summary>
        <Named text={`${text.slice(0, SHORT).toWellFormed()}…`} />
      </summary>
      <p>
        <Named text={text} />
      </p>
    </details>
  );
}

const SHORT = 160;

/** The rule that asks, with a link to its policy. */
export function RuleLink({ rule }: { rule: Context['rule'] }) {
  if (rule === null) return <span class="soft">no longer known</span>;
  const { policyId, policyName, policyVersion, index, name } = rule;
  return (
    <>
      <a href={`/dashboard/policies/${policyId}`}>
        <Named text={policyName} />
      </a>
      , version {policyVersion}, rule {index}
      {name !== null && (
        <>
          {' '}
          (<Named text={name} />)
        </>
      )}
    </>
  );
}

/** How the same key's questions about the same tool ended. */
export function Earlier({ earlier }: { earlier: Context['earlier'] }) {
  const { asked, lastAt, lastBy } = earlier;
  if (asked === 0) return <>not asked in the last 30 days</>;
  return (
    <>
      asked {asked === 1 ? 'once' : `${asked} times`} in the last 30 days: {earlierCounts(earlier)}
      {lastAt !== null && (
        <>
          ; last answered by <By by={lastBy} />, <Ago at={lastAt} />
        </>
      )}
    </>
  );
}

/** The latest calls of the session, or of the key. */
export function RecentCalls({ calls }: { calls: Context['recentCalls'] }) {
  if (calls.length === 0) return <p class="soft">None.</p>;
  return (
    <ul class="recent-calls">
      {calls.map(({ at, serverName, toolName, decision }) => (
        <li key={`${at} ${serverName} ${toolName}`}>
          <Time at={at} />
          <DecisionBadge decision={decision} />
          <Tool serverName={serverName} toolName={toolName} />
        </li>
      ))}
    </ul>
  );
}
