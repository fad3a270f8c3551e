// The tools of a server, as somebody looks at them before they accept them: first those that wait for it, then the others.
// A definition that changes meanwhile is marked, and is accepted only by whoever has seen it.

import { useEffect, useRef, useState } from 'preact/hooks';
import { visible } from '../../../../../src/core/text/visible.ts';
import type { Refusal } from '../../../api.ts';
import { Panel } from '../../../components/page.tsx';
import { Empty, Problem, Shown } from '../../../components/states.tsx';
import { More } from '../../../components/table.tsx';
import { Named } from '../../../components/text.tsx';
import { useKeptFocus } from '../../../kept-focus.ts';
import { useList } from '../../../load.ts';
import type { ReviewedTool } from '../../../resources.ts';
import { mayAdminister } from '../../../session.ts';
import { Accept } from './accept.tsx';
import { useLooks } from './looks.ts';
import { gravity, useWays, waits } from './standing.ts';
import { ToolShown } from './tool.tsx';

type Tools = readonly ReviewedTool[];

interface ReviewProps {
  /** By which a lock file knows the server. */
  name: string;
  /** The path of the tool server, or of the Connected Tool. */
  path: string;
  /** Another number reads the tools again. */
  round: number;
  /** What to do where no tool is known. */
  empty: string;
  onAccepted?: () => void;
}

export function Review({ name, path, round, empty, onAccepted }: ReviewProps) {
  const list = useList<ReviewedTool>(`${path}/tools`, 'tools');
  const ways = useWays();
  const looks = useLooks(list.data ?? []);
  const [chosen, setChosen] = useState<Tools>([]);
  const [asked, ask] = useState<Tools | null>(null);
  const [refused, setRefused] = useState<Refusal | null>(null);
  useOnChange(round, list.reload);
  const place = useKeptFocus(list.data);
  const all = list.data ?? [];
  const waiting = all.filter(waits).toSorted((a, b) => gravity(b) - gravity(a));
  const others = all.filter(each => !waits(each));
  const mayAccept = mayAdminister.value && ways !== undefined && ways.lockFile === null;
  const several = mayAccept && waiting.length > 1;
  const isChosen = (tool: ReviewedTool) => chosen.some(each => isSame(each, tool));
  const choose = (tool: ReviewedTool, is: boolean) =>
    setChosen(is ? [...chosen, tool] : chosen.filter(each => !isSame(each, tool)));
  const answered = (error: Refusal | null) => {
    setRefused(error);
    setChosen([]);
    list.reload();
  };
  const accepted = (tools: Tools) => {
    looks.take(tools);
    answered(null);
    onAccepted?.();
  };
  const shown = (tool: ReviewedTool) => (
    <ToolShown
      // A tool that begins to wait is unfolded.
      key={`${tool.name} ${tool.digest} ${waits(tool)}`}
      of={tool}
      server={name}
      ways={ways}
      hasMoved={looks.hasMoved(tool)}
      choice={
        several &&
        waits(tool) && (
          <input
            type="checkbox"
            aria-label={`Choose ${visible(tool.name)}`}
            checked={isChosen(tool)}
            onChange={event => choose(tool, event.currentTarget.checked)}
          />
        )
      }
      actions={
        mayAccept &&
        (waits(tool) || tool.accepted?.by === 'first') && (
          <button type="button" class="plain small" onClick={() => ask([tool])}>
            Accept
          </button>
        )
      }
    />
  );
  return (
    <Panel
      title="Tools"
      aside={several && <Several waiting={waiting} chosen={waiting.filter(isChosen)} ask={ask} />}
    >
      <div ref={place} class="stack kept" tabIndex={-1}>
        {typeof ways?.lockFile === 'string' && <Locked by={ways.lockFile} />}
        <Problem error={refused} />
        <Shown of={list} empty={<Empty title="Its tools are not known yet">{empty}</Empty>}>
          {waiting.length > 0 && (
            <section aria-label="Tools to look at">
              <h3>{counted(waiting)} to look at</h3>
              <ul class="looked-at">{waiting.map(shown)}</ul>
            </section>
          )}
          {others.length > 0 && (
            <section aria-label="Other tools">
              <h3>{counted(others)} for which nothing has to be done</h3>
              <ul class="looked-at">{others.map(shown)}</ul>
            </section>
          )}
          <More more={list.more} />
        </Shown>
      </div>
      <Accept
        path={path}
        asked={asked}
        onClose={() => ask(null)}
        onAccepted={accepted}
        onRefused={answered}
      />
    </Panel>
  );
}

const counted = ({ length }: Tools): string => (length === 1 ? '1 tool' : `${length} tools`);

interface SeveralProps {
  waiting: Tools;
  chosen: Tools;
  ask: (tools: Tools) => void;
}

function Several({ waiting, chosen, ask }: SeveralProps) {
  return (
    <div class="actions">
      {chosen.length > 0 && (
        <button type="button" class="small" onClick={() => ask(chosen)}>
          Accept the {chosen.length} chosen
        </button>
      )}
      <button type="button" class="plain small" onClick={() => ask(waiting)}>
        Accept all {waiting.length} shown
      </button>
    </div>
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
        decides which definitions are accepted, so nobody accepts any here. Each tool that it lacks has the
        line to add; the service reads the file when it starts.
      </p>
    </div>
  );
}

const isSame = (a: ReviewedTool, b: ReviewedTool) => a.name === b.name && a.digest === b.digest;

function useOnChange(value: number, then: () => void): void {
  const known = useRef(value);
  useEffect(() => {
    if (value !== known.current) then();
    known.current = value;
  }, [value]);
}
