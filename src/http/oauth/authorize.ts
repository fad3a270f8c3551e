// GET and POST /oauth/authorize: a client sends a person here, and the person decides whether to connect it. GET shows
// the question and gives no code; only the POST of its form does. A wrong client or redirect address is shown to the
// person, without a redirect; all other errors go back to the client.

import { z } from 'zod';
import { GuardError } from '../../core/errors.ts';
import { isDocumentUrl } from '../../guard/people/client-documents.ts';
import { mayRedirect, type OAuthClient, requireClient } from '../../guard/people/oauth-clients.ts';
import {
  type CodeRequest,
  consentFor,
  giveCode,
  keysOpenTo,
  requestFault,
  requireConsent,
} from '../../guard/people/oauth-codes.ts';
import { OAuthError } from '../../guard/people/oauth-error.ts';
import { redirectFault } from '../../guard/people/redirects.ts';
import type { SignedIn } from '../../guard/people/sign-ins.ts';
import { seeOther, toSignIn } from '../pages/sign-in.ts';
import { signedInOperator } from '../serving/auth.ts';
import { fields } from '../serving/body.ts';
import { STATUS } from '../serving/errors.ts';
import { issuerOf, requireSender, resourceOf } from '../serving/origin.ts';
import { type Incoming, type Route, route } from '../serving/route.ts';
import type { Services } from '../serving/services.ts';
import { consentPage, noKeyPage, unusablePage } from './consent-page.ts';

const PATH = '/oauth/authorize';
const text = (max: number) => z.string().max(max).optional();

/** Other parameters are ignored, and so are scopes: clients ask for many, and a token is for /mcp alone. */
const parameters = z.looseObject({
  client_id: text(4000),
  redirect_uri: text(500),
  response_type: text(100),
  state: text(4000),
  code_challenge: text(200),
  code_challenge_method: text(100),
  resource: text(2048),
});
type Parameters = z.output<typeof parameters>;

const consent = z.strictObject({
  request: z.string().max(20_000).meta({ description: 'The query of the page.' }),
  consent: z.string().max(200).meta({ description: 'Binds the form to the sign-in and the request.' }),
  key: z.string().max(100).optional(),
  answer: z.enum(['connect', 'deny']),
});

const page = (description: string) => ({ description, type: 'text/html' });
const shared = {
  path: PATH,
  access: 'public',
  tag: 'oauth',
  onlyWith: 'oauth',
  rateLimited: true,
  refusal: (error: GuardError) => (STATUS[error.code] === 500 ? null : unusablePage(error)),
} as const;

export const authorizeRoutes: Route[] = [
  route({
    ...shared,
    method: 'GET',
    summary: 'The page on which a person decides whether to connect a client',
    query: parameters,
    answers: {
      200: page('The question.'),
      303: { description: 'To the sign-in, or back to the client with an error.' },
      400: page('The client or its address is wrong.'),
      403: page('No key is open to the person.'),
    },
    handle: ask,
  }),
  route({
    ...shared,
    method: 'POST',
    summary: 'Connect a client, or refuse to',
    description: 'Only the page’s own form, sent by the person to whom it was shown, is accepted.',
    body: consent,
    form: 'only',
    answers: {
      303: { description: 'Back to the client, with a code or an error.' },
      400: page('The client or its address is wrong.'),
      403: page('The form is not from the page that was shown to this person.'),
    },
    handle: decide,
  }),
];

async function ask(incoming: Incoming<unknown, Parameters>): Promise<Response> {
  const { services, request, query } = incoming;
  const { deps, config } = services;
  const { search } = new URL(request.url);
  const person = (await signedInOperator(services, request))?.operator ?? null;
  // A document is fetched only for somebody who is signed in: strangers must not choose where this service sends requests,
  // nor make it redirect whoever opens a link.
  if (person === null && needsDocument(query)) return toSignIn(incoming, PATH + search);
  const { client, asked } = await requireAsking(services, query, person);
  const fault = requestFault(asked, resourceOf(config));
  if (fault !== null) return backWith(services, asked, fault);
  if (person === null) return toSignIn(incoming, PATH + search);
  const keys = await keysOpenTo(deps, person);
  const facts = {
    client,
    redirectUri: asked.redirectUri,
    person,
    request: search,
    consent: consentFor(deps, person, search),
  };
  return keys.length === 0 ? noKeyPage(facts) : consentPage(facts, keys);
}

async function decide(incoming: Incoming<z.output<typeof consent>, unknown>): Promise<Response> {
  const { services, request, body } = incoming;
  const { config } = services;
  requireSender(config, request, 'own page');
  const visitor = await signedInOperator(services, request);
  if (visitor === null)
    throw new GuardError('sign_in_required', 'Your sign-in has ended. Start again in your client.');
  const {
    operator: person,
    services: { deps },
  } = visitor;
  requireConsent(deps, person, body.request, body.consent);
  // The page was made from this request; everything is checked again, because clients and settings change.
  const query = parameters.parse(fields(new URLSearchParams(body.request)));
  const { client, asked } = await requireAsking(services, query, person);
  const fault = requestFault(asked, resourceOf(config));
  if (fault !== null) return backWith(services, asked, fault);
  if (body.answer === 'deny')
    return backWith(services, asked, new OAuthError('access_denied', 'The person did not agree.'));
  const code = await giveCode(deps, client, asked, person, body.key ?? '');
  return back(services, asked, { code });
}

/** Whether only its document can identify the client. An address of the wrong form is refused without fetching it. */
const needsDocument = ({ client_id: id = '', redirect_uri: uri = '' }: Parameters): boolean =>
  isDocumentUrl(id) && redirectFault(uri) === null;

/** The client and what it asks for. Throws if it is not known, or may not be sent to its address. */
async function requireAsking(
  { deps, config, clientDocuments, log }: Services,
  query: Parameters,
  person: SignedIn | null,
): Promise<{ client: OAuthClient; asked: CodeRequest }> {
  const { client_id: id = '', redirect_uri: redirectUri = '' } = query;
  if (id === '') throw new GuardError('invalid_input', 'The request does not name its client (client_id).');
  if (redirectFault(redirectUri) !== null) throw wrongRedirect();
  const client = await requireClient(deps, clientDocuments, id, person).catch(error => {
    const { cause } = error as Error;
    if (cause !== undefined) log.debug({ err: cause }, 'the document of an OAuth client cannot be read');
    throw error;
  });
  if (!mayRedirect(client, redirectUri, config.oauthRedirects)) throw wrongRedirect();
  const asked = {
    responseType: query.response_type,
    redirectUri,
    state: query.state,
    challenge: query.code_challenge,
    challengeMethod: query.code_challenge_method,
    resource: query.resource,
  };
  return { client, asked };
}

function wrongRedirect(): GuardError {
  return new GuardError(
    'invalid_input',
    'The client asks to be sent to an address (redirect_uri) that it has not registered, or that is not allowed here.',
  );
}

function backWith(services: Services, asked: CodeRequest, { error, message }: OAuthError): Response {
  return back(services, asked, { error, error_description: message });
}

/** Every answer names its issuer (RFC 9207). */
function back(
  { config }: Services,
  { redirectUri, state }: CodeRequest,
  answer: Record<string, string>,
): Response {
  const query = new URLSearchParams({
    ...answer,
    ...(state !== undefined && { state }),
    iss: issuerOf(config),
  });
  const separator = redirectUri.includes('?') ? '&' : '?';
  return seeOther(`${redirectUri}${separator}${query}`, { 'Referrer-Policy': 'no-referrer' });
}
