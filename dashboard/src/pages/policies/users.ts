// Which keys a policy decides for: told by the keys, which are read once.

import { keys } from '../../names.ts';
import type { Key } from '../../resources.ts';

export function usersOf(policyId: string): Key[] {
  return keys.value.filter(key => key.policyId === policyId && key.revokedAt === null);
}
