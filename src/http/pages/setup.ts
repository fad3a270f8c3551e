// /dashboard/setup: the page behind the one-time link that the service prints at its start, and its form. A link that
// does not work says so as soon as it is opened. Whoever sets the service up is signed in by it.

import { z } from 'zod';
import { GuardError } from '../../core/errors.ts';
import { requireSetupLink } from '../../guard/people/setup.ts';
import { settingUp, setUpFrom } from '../admin/setup.ts';
import { fit } from '../serving/body.ts';
import { requireSender } from '../serving/origin.ts';
import { type Incoming, type Route, route } from '../serving/route.ts';
import { HOME } from './dashboard.ts';
import { setupGonePage, setupPage } from './setup-page.ts';
import { expected, refusal, seeOther } from './sign-in.ts';

const shared = { path: '/dashboard/setup', access: 'public', tag: 'operators', refusal } as const;
const token = z.string().max(200).default('');
/** It accepts any text, because faults are shown beside the form. */
const form = z.strictObject({ token, email: z.string(), password: z.string() });
const answers = {
  410: { description: 'The link does not work (any more), as a page.', type: 'text/html' },
};

export const setupPageRoutes: Route[] = [
  route({
    ...shared,
    method: 'GET',
    summary: 'The page that creates the first operator',
    query: z.strictObject({ token }),
    answers: { 200: { description: 'A page.', type: 'text/html' }, ...answers },
    handle: async ({ services, query }) => {
      try {
        await requireSetupLink(services.deps, query.token);
        return setupPage({ token: query.token, email: '', complaint: null });
      } catch (error) {
        return setupGonePage(expected(error));
      }
    },
  }),
  route({
    ...shared,
    method: 'POST',
    summary: 'Create the first operator by a form',
    body: form,
    form: true,
    answers: {
      303: { description: 'Created and signed in; redirects to the dashboard.' },
      400: { description: 'A page that says what is wrong.', type: 'text/html' },
      ...answers,
    },
    handle: setUpByForm,
  }),
];

async function setUpByForm(incoming: Incoming<z.output<typeof form>, unknown>): Promise<Response> {
  const { services, request, body } = incoming;
  requireSender(services.config, request, 'own page');
  try {
    const { cookie } = await setUpFrom(incoming, fit(settingUp, body));
    return seeOther(HOME, { 'Set-Cookie': cookie });
  } catch (error) {
    if (error instanceof GuardError && error.code === 'gone') return setupGonePage(expected(error));
    return setupPage({ token: body.token, email: body.email, complaint: expected(error) });
  }
}
