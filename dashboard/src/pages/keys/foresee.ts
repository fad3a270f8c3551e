// The evaluator behind use-outlook.ts: the one of the service.

import { compilePolicy } from '../../../../src/core/compiled-policy.ts';
import { outlookOf } from '../../../../src/core/outlook.ts';
import type { WholePolicy } from '../../resources.ts';
import type { Foresee } from './use-outlook.ts';

export function foreseeBy(policy: WholePolicy, keyName: string): Foresee {
  const compiled = compilePolicy(policy);
  return (serverName, toolName) => outlookOf(compiled, { serverName, toolName }, keyName);
}
