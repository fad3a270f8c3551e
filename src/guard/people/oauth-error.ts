// An error that an OAuth client is told in the words of the standards (RFC 6749, 7591, 8707).

type OAuthCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_target'
  | 'invalid_redirect_uri'
  | 'invalid_client_metadata'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'access_denied';

export class OAuthError extends Error {
  readonly error: OAuthCode;

  /** The description is a whole sentence in ASCII, as the standard wants it. */
  constructor(error: OAuthCode, description: string) {
    super(description);
    this.name = 'OAuthError';
    this.error = error;
  }
}
