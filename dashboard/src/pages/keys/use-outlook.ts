// What the policy of a key says about a tool. The evaluator is large, so it is loaded only when tools are shown.

import { useEffect, useState } from 'preact/hooks';
import { useLive } from '../../live.ts';
import { useGet } from '../../load.ts';
import type { Key, WholePolicy } from '../../resources.ts';
import type { Foresee } from './foresee.ts';

/** Null until the policy is known. */
export function useOutlook({ policyId, name }: Key): Foresee | null {
  const { data, reload } = useGet<WholePolicy>(`/policies/${policyId}`);
  useLive({ gap: reload });
  const [foresee, setForesee] = useState<Foresee | null>(null);
  useEffect(() => {
    if (data === undefined) return;
    let isCurrent = true;
    import('./foresee.ts').then(
      ({ foreseeBy }) => isCurrent && setForesee(() => foreseeBy(data, name)),
      () => {},
    );
    return () => {
      isCurrent = false;
    };
  }, [data, name]);
  return foresee;
}
