// The busiest tools or keys: how often each was called, and how its calls were decided.

import type { ComponentChildren } from 'preact';
import { Panel } from '../../components/page.tsx';
import { DECISIONS, type Ranked, written } from './stats.ts';

interface RanksProps<Each extends Ranked> {
  title: string;
  list: Each[];
  keyOf: (each: Each) => string;
  name: (each: Each) => ComponentChildren;
}

export function Ranks<Each extends Ranked>({ title, list, keyOf, name }: RanksProps<Each>) {
  const most = list[0]?.count ?? 1;
  return (
    <Panel title={title}>
      <ol class="ranks">
        {list.map(each => (
          <li key={keyOf(each)}>
            {name(each)}
            <span class="rank-count">{written(each.count)}</span>
            <Shares of={each} most={most} />
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function Shares({ of, most }: { of: Ranked; most: number }) {
  return (
    <span class="track shares" aria-hidden="true">
      {DECISIONS.map(decision => (
        <span key={decision} class={decision} style={{ width: `${(of[decision] / most) * 100}%` }} />
      ))}
    </span>
  );
}
