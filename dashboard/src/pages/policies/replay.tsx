// Which of the recorded calls a text or an older version would have decided otherwise: one line, and a list that opens
// with links to entries of the audit log.

import { useState } from 'preact/hooks';
import { CHANGE_COLUMNS, TOOL_COLUMN } from '../../components/changed-calls.tsx';
import { type Span, SpanChoice } from '../../components/span-choice.tsx';
import { Problem } from '../../components/states.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { Named, Time } from '../../components/text.tsx';
import { keyName } from '../../names.ts';
import type { Replay, WholePolicy } from '../../resources.ts';
import { replayWords, savedCalls, savedWords } from './replay-words.ts';
import { type Replayed, type Replays, useReplays } from './use-replay.ts';

/** For an older version of a policy. */
export function ReplayOfVersion({ policy, version }: { policy: WholePolicy; version: number }) {
  const [span, setSpan] = useState<Span>('7 days');
  const replays = useReplays(policy, { version }, span);
  return <ReplayOf replays={replays} span={span} setSpan={setSpan} />;
}

interface ReplayOfProps {
  replays: Replays;
  span: Span;
  setSpan: (span: Span) => void;
}

export function ReplayOf({ replays: { draft, saved, version }, span, setSpan }: ReplayOfProps) {
  const { answer, loading, error, again } = draft;
  const before = saved.answer?.is ?? null;
  const already = before === null ? null : savedWords(version, before);
  return (
    <section class="replay" aria-label="Replay">
      <header>
        <h3>Replay of recorded calls</h3>
        <SpanChoice label="Replay the last" span={span} setSpan={setSpan} />
      </header>
      <div aria-live="polite" aria-busy={loading}>
        {loading && <p class="soft">Replaying the last {span}…</p>}
        {!loading && answer !== null && <p class="replay-line">{replayWords(answer.span, answer.is)}</p>}
        <Problem error={error} retry={again} />
      </div>
      {answer !== null && already !== null && <p class="soft">{already}</p>}
      {answer !== null && <Since answer={answer} />}
      {answer !== null && answer.is.changes.length > 0 && (
        <Changes changes={answer.is.changes} before={before} version={version} />
      )}
      <p class="soft small">These are the calls that this policy decided. Limits are left out.</p>
    </section>
  );
}

/** The counts begin at a whole minute or hour. */
const SLACK_MS = 3_660_000;

/** Says from when on calls are recorded, if that is later than what was asked for. */
function Since({ answer: { asked, is } }: { answer: NonNullable<Replayed['answer']> }) {
  if (is.calls === 0 || Date.parse(is.from) <= asked + SLACK_MS) return null;
  return (
    <p class="soft small">
      Calls are counted since <Time at={is.from} />.
    </p>
  );
}

type Change = Replay['changes'][number];
const MOST_ROWS = 100;

interface ChangesProps {
  changes: readonly Change[];
  /** The same of the saved version. */
  before: Replay | null;
  version: number;
}

function Changes({ changes, before, version }: ChangesProps) {
  const more = changes.length - MOST_ROWS;
  return (
    <details class="replay-changes">
      <summary>Show the calls that change</summary>
      <Table
        caption="Calls that change"
        columns={before === null || before.changed === 0 ? COLUMNS : withSaved(before, version)}
        rows={changes.slice(0, MOST_ROWS)}
        keyOf={({ serverName, toolName, keyId, from, to }) =>
          JSON.stringify([serverName, toolName, keyId, from, to])
        }
      />
      {more > 0 && <p class="soft">And {more} further rows with fewer calls.</p>}
    </details>
  );
}

const COLUMNS: Column<Change>[] = [
  TOOL_COLUMN,
  { head: 'Key', cell: ({ keyId }) => <Named text={keyName(keyId)} /> },
  ...CHANGE_COLUMNS,
];

/** The columns with one that says for how many calls the saved version makes the same change. */
function withSaved(before: Replay, version: number): Column<Change>[] {
  const saved: Column<Change> = {
    head: `With version ${version}`,
    kind: 'number',
    cell: change => savedCalls(before, change).toLocaleString('en'),
  };
  return COLUMNS.toSpliced(-1, 0, saved);
}
