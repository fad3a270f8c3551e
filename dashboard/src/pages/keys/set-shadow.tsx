// The choice of a shadow for a key that has none.

import { visible } from '../../../../src/core/text/visible.ts';
import { announce } from '../../announce.ts';
import { patch } from '../../api.ts';
import { Field } from '../../components/field.tsx';
import { Problem } from '../../components/states.tsx';
import { useAction } from '../../load.ts';
import type { Key, Policy } from '../../resources.ts';

interface SetShadowProps {
  of: Key;
  policies: readonly Policy[];
  reload: () => void;
}

export function SetShadow({ of: key, policies, reload }: SetShadowProps) {
  const { busy, error, run } = useAction();
  const others = policies.filter(({ id }) => id !== key.policyId);
  if (others.length === 0)
    return (
      <p>
        There is no other policy yet. <a href="/dashboard/policies/new">Write one</a>, or{' '}
        <a href={`/dashboard/keys/${key.id}?view=suggest`}>make one from this key’s calls</a>.
      </p>
    );
  const set = (event: SubmitEvent) => {
    event.preventDefault();
    const shadowPolicyId = new FormData(event.currentTarget as HTMLFormElement).get('shadowPolicyId');
    run(async () => {
      await patch(`/keys/${key.id}`, { shadowPolicyId });
      announce('The shadow judges each call from now on.');
      reload();
    });
  };
  return (
    <form class="inline-form" onSubmit={set}>
      <Field label="Shadow">
        {ties => (
          <select {...ties} name="shadowPolicyId" required>
            {others.map(({ id, name }) => (
              <option key={id} value={id}>
                {visible(name)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <button type="submit" disabled={busy}>
        Set the shadow
      </button>
      <Problem error={error} />
    </form>
  );
}
