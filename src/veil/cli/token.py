"""``veil token``: what lets a browser or a program in to the search page."""

import click


@click.command()
@click.option("--header", is_flag=True, help="as a header of HTTP, for programs")
@click.option("--new", is_flag=True, help="make another one; takes effect when a server starts")
def token(header: bool, new: bool) -> None:
    """Print the access token of the search page.

    It lets a browser or a program in.

    Who has it can search, spend the budget and read the ledger. On a machine that others use, keep
    it out of the arguments of programs: veil token --header | curl -H @- ADDRESS
    """
    from veil.web.token import new_token, own_token  # the proxy is long to load

    found = new_token() if new else own_token()
    click.echo(f"Authorization: Bearer {found}" if header else found)
