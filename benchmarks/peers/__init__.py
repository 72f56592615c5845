"""What is measured, as programs of their own: the product, its floors and its peers.

Each is run by ``python -m`` and prints one line of JSON last, with ``seconds`` of what is compared.
"""
