// Shows whether an entry is sealed, so that anybody can prove that it is in the log and unchanged, and offers the proof
// for download. The command line and the clients verify a proof: a page of the service cannot vouch for the service.

import { Refusal } from '../../api.ts';
import { useGet } from '../../load.ts';
import type { Proof } from '../../resources.ts';

const NOT_YET = 409;

export function Sealed({ id }: { id: string }) {
  const { data, error } = useGet<Proof>(`/audit/${id}/proof`);
  if (error instanceof Refusal && error.status === NOT_YET) return <>not yet; it takes a minute or so</>;
  if (error !== null) return <>{error.message}</>;
  if (data === undefined) return <span class="soft">…</span>;
  return (
    <>
      number {data.seq} of the {data.size} entries under the newest signature{' '}
      <a href={`/admin/v1/audit/${id}/proof`} download={`toolgate-proof-${id}.json`}>
        download the proof
      </a>
    </>
  );
}
