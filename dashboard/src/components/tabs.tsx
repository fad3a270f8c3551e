// Tabs within a page, as browsers and screen readers know them: the arrow keys move between them.

import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';

export interface Tab {
  id: string;
  name: string;
  content: () => ComponentChildren;
}

const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1 };

export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  const prefix = useId();
  const [at, setAt] = useState(0);
  const move = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step === undefined) return;
    const next = (at + step + tabs.length) % tabs.length;
    setAt(next);
    document.getElementById(`${prefix}-${tabs[next]?.id}`)?.focus();
  };
  const chosen = tabs[at];
  return (
    <div class="stack">
      <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map(({ id, name }, index) => (
          <button
            key={id}
            id={`${prefix}-${id}`}
            type="button"
            role="tab"
            aria-selected={index === at}
            aria-controls={`${prefix}-panel`}
            tabIndex={index === at ? 0 : -1}
            onClick={() => setAt(index)}
          >
            {name}
          </button>
        ))}
      </div>
      <div id={`${prefix}-panel`} role="tabpanel" aria-labelledby={`${prefix}-${chosen?.id}`} class="stack">
        {chosen?.content()}
      </div>
    </div>
  );
}
