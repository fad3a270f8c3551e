// What somebody has looked at: which definition of each tool the page showed first.

import { useEffect, useRef } from 'preact/hooks';
import type { ReviewedTool } from '../../../resources.ts';

type Tools = readonly ReviewedTool[];

export function useLooks(tools: Tools) {
  const seen = useRef(new Map<string, string>());
  useEffect(() => {
    for (const { name, digest } of tools) if (!seen.current.has(name)) seen.current.set(name, digest);
  }, [tools]);
  return {
    hasMoved: ({ name, digest }: ReviewedTool) => (seen.current.get(name) ?? digest) !== digest,
    /** These were looked at anew. */
    take: (taken: Tools) => {
      for (const { name, digest } of taken) seen.current.set(name, digest);
    },
  };
}
