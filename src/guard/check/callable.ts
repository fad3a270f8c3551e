// Which tools a credential could ever call: for listings that leave the others out. It decides nothing; a call
// is judged when it comes.

import { compilePolicy, couldPass } from '../../core/decide.ts';
import { findKey } from '../../store/keys.ts';
import { findPolicy, findPolicyVersion } from '../../store/policies.ts';
import type { Principal } from '../credentials.ts';
import type { Guard } from '../guard.ts';

export async function callableBy(
  guard: Guard,
  principal: Principal,
): Promise<(serverName: string, toolName: string) => boolean> {
  const key = await findKey(guard.db, principal.keyId);
  const current = key === null ? null : await findPolicy(guard.db, key.policyId);
  const policy = current === null ? null : await findPolicyVersion(guard.db, current.id, current.version);
  if (policy === null) return () => false;
  const compiled = compilePolicy(policy);
  return (serverName, toolName) => couldPass(compiled, { serverName, toolName }, principal.scope);
}
