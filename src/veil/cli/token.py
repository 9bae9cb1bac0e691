"""``veil token``: the access token of the search page."""

import click


@click.command()
@click.option("--header", is_flag=True, help="Print it as an HTTP header, for programs.")
@click.option("--new", is_flag=True, help="Create a new token, for servers started from now on.")
def token(header: bool, new: bool) -> None:
    """Print the access token of the search page.

    Browsers and programs need it for access.

    Anyone who has the token can search, spend the budget and read the ledger. On a shared machine,
    keep it out of command-line arguments: veil token --header | curl -H @- ADDRESS
    """
    from veil.web.token import new_token, own_token  # slow to load

    value = new_token() if new else own_token()
    click.echo(f"Authorization: Bearer {value}" if header else value)
