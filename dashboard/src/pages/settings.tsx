// Settings: shows how the service is configured. Settings are changed where the service is started.

import { useLocation } from 'preact-iso';
import { Field } from '../components/field.tsx';
import { Page, Panel } from '../components/page.tsx';
import { Empty, Loading, Problem } from '../components/states.tsx';
import { type Column, Table } from '../components/table.tsx';
import { Badge, Named } from '../components/text.tsx';
import { useGet } from '../load.ts';
import type { Setting, Settings as Shown } from '../resources.ts';

const COLUMNS: Column<Setting>[] = [
  {
    head: 'Setting',
    cell: ({ env, name }) => (
      <span>
        <code>{env}</code>
        <br />
        <span class="soft">
          in the file: <code>{name}</code>
        </span>
      </span>
    ),
  },
  { head: 'Value', cell: setting => <Value of={setting} /> },
  { head: 'Meaning', kind: 'wide', cell: ({ meaning }) => meaning },
];

export default function Settings() {
  const { data, error, reload } = useGet<Shown>('/settings');
  const { query, route } = useLocation();
  const search = query['search'] ?? '';
  const found = data?.settings.filter(each => matches(each, search)) ?? [];
  return (
    <Page
      title="Settings"
      lead="Read-only: change them in the environment or in toolgate.yaml, and start the service again."
      actions={data !== undefined && <span class="soft">Toolgate {data.version}</span>}
    >
      <Field
        label="Find a setting"
        hint="By its name, meaning or value; or “changed” for those that were set."
      >
        {ties => (
          <input
            {...ties}
            type="search"
            value={search}
            onInput={event => route(addressOf(event.currentTarget.value), true)}
          />
        )}
      </Field>
      <Problem error={error} retry={reload} />
      {data === undefined && error === null && <Loading lines={8} />}
      {data !== undefined && (
        <section class="panel" aria-label="Settings">
          {found.length === 0 ? (
            <Empty title="No setting matches" />
          ) : (
            <Table caption="Settings" columns={COLUMNS} rows={found} keyOf={each => each.name} />
          )}
        </section>
      )}
      {data !== undefined && <Channels all={data.channels} />}
      {data !== undefined && <StdioServers names={data.stdioServers} />}
    </Page>
  );
}

const addressOf = (search: string): string =>
  search === '' ? '/dashboard/settings' : `/dashboard/settings?search=${encodeURIComponent(search)}`;

function matches({ name, env, meaning, value, origin }: Setting, search: string): boolean {
  if (search.trim().toLowerCase() === 'changed') return origin !== 'default';
  const text = `${name} ${env} ${meaning} ${value ?? ''}`.toLowerCase();
  return text.includes(search.trim().toLowerCase());
}

function Value({ of: { value, origin, default: fallback } }: { of: Setting }) {
  const shown = value === null || value === '' ? <span class="soft">not set</span> : <Named text={value} />;
  if (origin === 'default') return <span>{shown}</span>;
  return (
    <span>
      {shown} <Badge tone="accent">{origin === 'file' ? 'from the file' : 'from the environment'}</Badge>
      {fallback !== null && fallback !== '' && (
        <>
          <br />
          <span class="soft">
            default: <Named text={fallback} />
          </span>
        </>
      )}
    </span>
  );
}

function Channels({ all }: { all: Shown['channels'] }) {
  return (
    <Panel title="Named channels">
      {all.length === 0 ? (
        <Empty title="None is declared">
          Channels that rules and keys can name are declared under <code>channels</code> in{' '}
          <code>toolgate.yaml</code>.
        </Empty>
      ) : (
        <p class="cluster">
          {all.map(({ name, type }) => (
            <span key={name} class="chip">
              {name} <span class="soft">{type}</span>
            </span>
          ))}
        </p>
      )}
    </Panel>
  );
}

function StdioServers({ names }: { names: readonly string[] }) {
  return (
    <Panel title="Commands for Connected Tools">
      {names.length === 0 ? (
        <Empty title="None is declared">
          MCP servers that are commands are declared under <code>stdioServers</code> in{' '}
          <code>toolgate.yaml</code>, never through this page or the API.
        </Empty>
      ) : (
        <p class="cluster">
          {names.map(name => (
            <code key={name} class="chip">
              <Named text={name} />
            </code>
          ))}
        </p>
      )}
    </Panel>
  );
}
