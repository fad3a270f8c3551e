// Asks the service what a text, or an older version, would have decided about the recorded calls of a policy. It waits
// for a pause in the typing, and has one question under way at a time, because each of them reads a lot.

import { useEffect, useRef, useState } from 'preact/hooks';
import { post } from '../../api.ts';
import { SPANS, type Span } from '../../components/span-choice.tsx';
import type { Replay, WholePolicy } from '../../resources.ts';

export interface Replayed {
  /** The latest answer. It may be about an earlier text while `loading`. */
  answer: { span: Span; asked: number; is: Replay } | null;
  loading: boolean;
  error: Error | null;
  again: () => void;
}

export interface Replays {
  draft: Replayed;
  /** The same of the saved version, if it is newer than some of the calls. */
  saved: Replayed;
  /** The saved version. */
  version: number;
}

/** `asked` is the text, the rules or the version; null asks nothing. */
export function useReplays(policy: WholePolicy, asked: object | null, span: Span): Replays {
  const { id, version, updatedAt } = policy;
  const isNew = Date.parse(updatedAt) > Date.now() - SPANS[span];
  const draft = useReplay(id, asked, span);
  const saved = useReplay(id, asked !== null && isNew ? { version } : null, span);
  return { draft, saved, version };
}

const PAUSE_MS = 600;
const NOTHING = { answer: null, loading: false, error: null };

function useReplay(policyId: string, asked: object | null, span: Span): Replayed {
  const [state, setState] = useState<Omit<Replayed, 'again'>>(NOTHING);
  const [round, setRound] = useState(0);
  const underWay = useRef<Promise<void>>(Promise.resolve());
  const body = asked === null ? null : JSON.stringify(asked);
  useEffect(() => {
    setState(before => (body === null ? NOTHING : { ...before, loading: true, error: null }));
    if (body === null) return;
    let gone = false;
    const ask = async () => {
      await underWay.current;
      if (gone) return;
      const from = Date.now() - SPANS[span];
      underWay.current = post<Replay>(`/policies/${policyId}/replay`, {
        ...JSON.parse(body),
        from: new Date(from).toISOString(),
      })
        .then(is => gone || setState({ answer: { span, asked: from, is }, loading: false, error: null }))
        .catch(error => gone || setState({ answer: null, loading: false, error }))
        .then(() => {});
    };
    const timer = setTimeout(ask, PAUSE_MS);
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [policyId, body, span, round]);
  return { ...state, again: () => setRound(before => before + 1) };
}
