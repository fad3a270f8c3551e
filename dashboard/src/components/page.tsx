// The frame of one page: its heading, which is also in the title of the tab, and the actions at the top.

import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { visible } from '../../../src/core/text/visible.ts';
import { pageTitle } from '../title.ts';

interface PageProps {
  /** The title may be a name that somebody else chose. */
  title: string;
  /** One sentence about the purpose of the page. */
  lead?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}

export function Page({ title, lead, actions, children }: PageProps) {
  const shown = visible(title);
  useEffect(() => {
    pageTitle.value = shown;
  }, [shown]);
  return (
    <div class="page">
      <header class="page-head">
        <div>
          <h1 class="named">{shown}</h1>
          {lead !== undefined && <p class="soft">{lead}</p>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

interface PanelProps {
  title: string;
  /** A link or a choice beside the title. */
  aside?: ComponentChildren;
  children: ComponentChildren;
}

/** A part of a page with a title, on its own sheet. */
export function Panel({ title, aside, children }: PanelProps) {
  return (
    <section class="panel">
      <header>
        <h2>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

/** Names and values, as in a record's details. */
export function Facts({ facts }: { facts: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
