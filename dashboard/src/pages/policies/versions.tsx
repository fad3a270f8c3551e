// The versions of a policy: who made them and when, the differences from the current version, and rolling back to one.

import { useEffect, useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { diffLines } from '../../../../src/core/text/diff.ts';
import { announce } from '../../announce.ts';
import { Confirm, Dialog } from '../../components/dialog.tsx';
import { Difference } from '../../components/difference.tsx';
import { Panel } from '../../components/page.tsx';
import { Empty, Shown } from '../../components/states.tsx';
import { type Column, More, Table } from '../../components/table.tsx';
import { Badge, Named, Time } from '../../components/text.tsx';
import { useList } from '../../load.ts';
import type { PolicyVersion, WholePolicy } from '../../resources.ts';
import { mayAdminister } from '../../session.ts';
import { linesOf } from './draft.ts';
import { ReplayOfVersion } from './replay.tsx';

interface VersionsProps {
  policy: WholePolicy;
  /** Makes a new version with this text. */
  replace: (text: string) => Promise<unknown>;
}

export function Versions({ policy, replace }: VersionsProps) {
  const list = useList<PolicyVersion>(`/policies/${policy.id}/versions`, 'versions', { limit: 20 });
  const { query, path, route } = useLocation();
  // The list is loaded again with each new version, however it was made.
  const listed = useRef(policy.version);
  useEffect(() => {
    if (listed.current !== policy.version) list.reload();
    listed.current = policy.version;
  }, [policy.version]);
  const shown = list.data?.find(each => String(each.version) === query['compare']);
  const back = async ({ version, text }: PolicyVersion) => {
    await replace(text);
    announce(`Version ${policy.version + 1} has the text of version ${version}.`);
  };
  return (
    <Panel title="Versions">
      <Shown of={list} empty={<Empty title="There are no versions" />}>
        <Table
          caption="Versions, newest first"
          columns={columns(policy, path, back)}
          rows={list.data ?? []}
          keyOf={each => String(each.version)}
        />
        <More more={list.more} />
      </Shown>
      <Dialog
        title={`From version ${shown?.version} to version ${policy.version}`}
        open={shown !== undefined}
        onClose={() => route(path)}
        wide
      >
        {shown !== undefined && <Difference lines={diffLines(linesOf(shown.text), linesOf(policy.text))} />}
      </Dialog>
    </Panel>
  );
}

function columns(
  policy: WholePolicy,
  path: string,
  back: (version: PolicyVersion) => Promise<void>,
): Column<PolicyVersion>[] {
  const isCurrent = ({ version }: PolicyVersion) => version === policy.version;
  return [
    { head: 'Version', cell: ({ version }) => version },
    { head: 'Saved', cell: ({ createdAt }) => <Time at={createdAt} /> },
    { head: 'By', cell: ({ createdBy }) => <Named text={createdBy.replace(/^operator:/, '')} /> },
    { head: 'Rules', kind: 'number', cell: ({ rules }) => rules.length },
    {
      head: 'Actions',
      kind: 'actions',
      cell: each =>
        isCurrent(each) ? (
          <Badge tone="accent">current</Badge>
        ) : (
          <>
            <a class="button plain small" href={`${path}?compare=${each.version}`}>
              Compare
            </a>
            {mayAdminister.value && (
              <Confirm
                label="Roll back"
                title={`Roll back to version ${each.version}?`}
                run={() => back(each)}
                wide
              >
                <div class="stack">
                  <p>Its text becomes version {policy.version + 1} and decides from that moment on.</p>
                  <ReplayOfVersion policy={policy} version={each.version} />
                </div>
              </Confirm>
            )}
          </>
        ),
    },
  ];
}
