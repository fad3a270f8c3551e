// Saves a new version of a policy.

import { put } from '../../api.ts';
import type { Policy } from '../../resources.ts';
import { contentOf } from './draft.ts';

interface Replacement {
  id: string;
  /** The version that was edited, so that a newer version of somebody else is not replaced unseen. */
  version: number;
  text: string;
  about?: Pick<Policy, 'name' | 'description'>;
}

export function replacePolicy({ id, version, text, about }: Replacement): Promise<unknown> {
  return put(`/policies/${id}`, { ...about, ...contentOf(text), version });
}
