// The tools of a server, as somebody looks at them before they accept them: first those that wait for it, then the others.
// A definition that changes meanwhile is marked, and is accepted only by whoever has seen it.

import { useEffect, useRef, useState } from 'preact/hooks';
import { visible } from '../../../../../src/core/text/visible.ts';
import type { Refusal } from '../../../api.ts';
import { Panel } from '../../../components/page.tsx';
import { Empty, Problem, Shown } from '../../../components/states.tsx';
import { More } from '../../../components/table.tsx';
import { Named } from '../../../components/text.tsx';
import { useList } from '../../../load.ts';
import type { ReviewedTool } from '../../../resources.ts';
import { mayAdminister } from '../../../session.ts';
import { Accept } from './accept.tsx';
import { gravity, useWays, waits } from './standing.ts';
import { ToolShown } from './tool.tsx';

interface ReviewProps {
  /** The path of the tool server, or of the Connected Tool. */
  path: string;
  /** Another number reads the tools again. */
  round: number;
  /** What to do where no tool is known. */
  empty: string;
  onAccepted?: () => void;
}

export function Review({ path, round, empty, onAccepted }: ReviewProps) {
  const list = useList<ReviewedTool>(`${path}/tools`, 'tools');
  const ways = useWays();
  const looks = useLooks(list.data ?? []);
  const [chosen, setChosen] = useState<readonly ReviewedTool[]>([]);
  const [refused, setRefused] = useState<Refusal | null>(null);
  const first = useRef(round);
  useEffect(() => {
    if (round !== first.current) list.reload();
  }, [round]);
  const all = list.data ?? [];
  const isChosen = (tool: ReviewedTool) => chosen.some(each => isSame(each, tool));
  const waiting = all.filter(waits).toSorted((a, b) => gravity(b) - gravity(a));
  const others = all.filter(each => !waits(each));
  const ticked = waiting.filter(isChosen);
  const mayAccept = mayAdminister.value && ways !== undefined && ways.lockFile === null;
  const accepting = {
    path,
    onAccepted: (tools: readonly ReviewedTool[]) => {
      looks.take(tools);
      setRefused(null);
      setChosen([]);
      list.reload();
      onAccepted?.();
    },
    onRefused: (error: Refusal) => {
      setRefused(error);
      setChosen([]);
      list.reload();
    },
  };
  const shown = (tool: ReviewedTool) => (
    <ToolShown
      // A tool that begins to wait is unfolded.
      key={`${tool.name} ${tool.digest} ${waits(tool)}`}
      of={tool}
      ways={ways}
      hasMoved={looks.hasMoved(tool)}
      choice={
        mayAccept &&
        waits(tool) &&
        waiting.length > 1 && (
          <input
            type="checkbox"
            aria-label={`Choose ${visible(tool.name)}`}
            checked={isChosen(tool)}
            onChange={event =>
              setChosen(
                event.currentTarget.checked ? [...chosen, tool] : chosen.filter(each => !isSame(each, tool)),
              )
            }
          />
        )
      }
      actions={
        mayAccept &&
        (waits(tool) || tool.accepted?.by === 'first') && (
          <Accept label="Accept" plain tools={[tool]} {...accepting} />
        )
      }
    />
  );
  return (
    <Panel
      title="Tools"
      aside={
        mayAccept &&
        waiting.length > 1 && (
          <div class="actions">
            {ticked.length > 0 && (
              <Accept label={`Accept the ${ticked.length} chosen`} tools={ticked} {...accepting} />
            )}
            <Accept label={`Accept all ${waiting.length} shown`} plain tools={waiting} {...accepting} />
          </div>
        )
      }
    >
      {typeof ways?.lockFile === 'string' && <Locked by={ways.lockFile} />}
      <Problem error={refused} />
      <Shown of={list} empty={<Empty title="Its tools are not known yet">{empty}</Empty>}>
        {waiting.length > 0 && (
          <section aria-label="Tools to look at">
            <h3>{waiting.length === 1 ? '1 tool' : `${waiting.length} tools`} to look at</h3>
            <ul class="looked-at">{waiting.map(shown)}</ul>
          </section>
        )}
        {others.length > 0 && (
          <section aria-label="Other tools">
            <h3>
              {others.length === 1 ? '1 tool' : `${others.length} tools`} for which nothing has to be done
            </h3>
            <ul class="looked-at">{others.map(shown)}</ul>
          </section>
        )}
        <More more={list.more} />
      </Shown>
    </Panel>
  );
}

function Locked({ by }: { by: string }) {
  return (
    <div class="notice">
      <p>
        The lock file{' '}
        <code>
          <Named text={by} />
        </code>{' '}
        decides which definitions are accepted, so nobody accepts any here. Write the new lines with{' '}
        <code>toolgate servers lock</code>, and start the service anew.
      </p>
    </div>
  );
}

const isSame = (a: ReviewedTool, b: ReviewedTool) => a.name === b.name && a.digest === b.digest;

/** Remembers which definition of each tool was shown first. */
function useLooks(tools: readonly ReviewedTool[]) {
  const seen = useRef(new Map<string, string>());
  useEffect(() => {
    for (const { name, digest } of tools) if (!seen.current.has(name)) seen.current.set(name, digest);
  }, [tools]);
  return {
    hasMoved: ({ name, digest }: ReviewedTool) => (seen.current.get(name) ?? digest) !== digest,
    /** These were looked at anew. */
    take: (taken: readonly ReviewedTool[]) => {
      for (const { name, digest } of taken) seen.current.set(name, digest);
    },
  };
}
