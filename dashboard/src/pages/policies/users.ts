// Finds the keys that use a policy, among the keys that are loaded once.

import { keys } from '../../names.ts';
import type { Key } from '../../resources.ts';

export function usersOf(policyId: string): Key[] {
  return keys.value.filter(key => key.policyId === policyId && key.revokedAt === null);
}
