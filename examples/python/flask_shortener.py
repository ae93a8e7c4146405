"""A link shortener that refuses blocked URLs: `flask --app flask_shortener run`, then /shorten?url=http://evil.example/."""
import flask
import mankai
import mankai.wsgi

app = flask.Flask(__name__)
links: list[str] = []


@app.route("/shorten")
def shorten():
    links.append(flask.request.args["url"])
    return f"/{len(links) - 1}\n"


@app.route("/<int:number>")
def follow(number):
    return flask.redirect(links[number]) if number < len(links) else flask.abort(404)


# In a service: mankai.Guard.open("blocked.mkg"), the file that `mankai guard build` or `mankai guard update` writes.
guard, _ = mankai.Guard.build([["evil.example"]])
app.wsgi_app = mankai.wsgi.GuardMiddleware(app.wsgi_app, guard, parameters=("url",))
