// Says which tools a credential may be able to call, so that listings can leave out the others. This is not a
// decision: every call is checked when it is made.

import { couldPass } from '../../core/decision/could-pass.ts';
import { compilePolicy } from '../../core/policy/compiled-policy.ts';
import { findKey } from '../../store/keys.ts';
import { findPolicy, findPolicyVersion } from '../../store/policies.ts';
import type { Principal } from '../credentials.ts';
import type { Deps } from '../deps.ts';

export async function callableBy(
  deps: Deps,
  principal: Principal,
): Promise<(serverName: string, toolName: string) => boolean> {
  const key = await findKey(deps.db, principal.keyId);
  const current = key === null ? null : await findPolicy(deps.db, key.policyId);
  const policy = current === null ? null : await findPolicyVersion(deps.db, current.id, current.version);
  if (policy === null) return () => false;
  const compiled = compilePolicy(policy);
  return (serverName, toolName) => couldPass(compiled, { serverName, toolName }, principal.scope);
}
