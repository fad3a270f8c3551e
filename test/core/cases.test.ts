// The shared decision cases, through the decider itself.

import { describe, expect, test } from 'bun:test';
import { simulate } from '../../src/core/decision/simulate.ts';
import { compilePolicy } from '../../src/core/policy/compiled-policy.ts';
import { fieldFault } from '../../src/core/policy/rule-faults.ts';
import { caseFiles, caseTitle, sessionOf } from '../support/cases.ts';

for (const file of caseFiles()) {
  describe(file.file, () => {
    const policy = compilePolicy({ id: 'p', version: 1, ...file.policy });

    test('is a valid policy', () => {
      for (const rule of policy.rules) {
        expect(fieldFault('tool', rule.tool)).toBeNull();
        expect(fieldFault('reason', rule.reason ?? '')).toBeNull();
      }
    });

    for (const call of file.calls) {
      test(caseTitle(call), () => {
        const { server: serverName, tool: toolName, args, at, keyName, person, used = {} } = call;
        const session = sessionOf(file, call);
        const got = simulate(
          policy,
          { serverName, toolName },
          {
            at: at === undefined ? Date.now() : Date.parse(at),
            args,
            keyName,
            person,
            session: session?.label,
            scopeTools: session?.scopeTools,
            used: Object.fromEntries(Object.entries(used).map(([name, amount]) => [name, String(amount)])),
          },
        );
        expect(got).toMatchObject(call.want);
      });
    }
  });
}
