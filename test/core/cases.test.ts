// The shared decision cases, through the decider itself.

import { describe, expect, test } from 'bun:test';
import { patternFault, reasonFault } from '../../src/core/policy.ts';
import { caseFiles, caseTitle } from '../support/cases.ts';
import { deciderIn } from './decider.ts';

const { compilePolicy, decide } = await deciderIn();

for (const { file, policy, session, calls } of caseFiles()) {
  describe(file, () => {
    const compiled = compilePolicy({ id: 'p', version: 1, ...policy });
    const scope = session?.scopeTools ? new Set(session.scopeTools) : null;

    test('is a valid policy', () => {
      for (const rule of policy.rules) {
        expect(patternFault(rule.tool)).toBeNull();
        expect(reasonFault(rule.reason ?? '')).toBeNull();
      }
    });

    for (const call of calls) {
      test(caseTitle(call), () => {
        const got = decide(compiled, { serverName: call.server, toolName: call.tool }, { scope });
        expect(got).toMatchObject(call.want);
      });
    }
  });
}
